"""Runs in containers that play somebody to be reached: says who it is to all who connect.

python3 network_services.py NAME PORT   prints a line for every datagram that it gets
python3 network_services.py NAME PORT ADDRESS   also a resolver: all names have that address
"""

import socket
import sys
import threading


def main():
    name, port = sys.argv[1], int(sys.argv[2])
    threading.Thread(target=greet, args=(name, port), daemon=True).start()
    if len(sys.argv) > 3:
        threading.Thread(target=resolve, args=(sys.argv[3],), daemon=True).start()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        datagrams.bind(("", port))
        print("ready", flush=True)  # noqa: T201
        while True:
            said, sender = datagrams.recvfrom(1000)
            print("datagram", said, sender, flush=True)  # noqa: T201


def greet(name, port):
    with socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        while True:
            connection, _ = server.accept()
            with connection:
                connection.sendall(name.encode())


def resolve(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("", 53))
        while True:
            query, sender = server.recvfrom(1000)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1 : at + 1 + query[at]].decode(errors="replace"))
                at += 1 + query[at]
            print("asked", ".".join(labels), flush=True)  # noqa: T201
            question = query[12 : at + 5]
            is_ipv4 = query[at + 1 : at + 3] == b"\0\1"
            head = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if is_ipv4 else b"\0\0") + b"\0\0\0\0"
            answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4" + socket.inet_aton(address)
            server.sendto(head + question + (answer if is_ipv4 else b""), sender)


if __name__ == "__main__":
    main()
