"""Runs inside of an agent's container: who answers there, and what root can do about it.

    python3 - reach '{"name of target": ["address", port], …}'   JSON: what each of them said
    python3 - wait '{…}'   the same, once at most one says nothing
    python3 - undo '{"targets": {…}, …}'   the same, after each of the ways that root may try

Needs no package and no program, since images have few. It is sent on standard input.
"""

import ctypes
import fcntl
import json
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress

WAIT = 1.5
"""Seconds for an answer."""


def main():
    what, facts = sys.argv[1], json.loads(sys.argv[2])
    found = undone(facts) if what == "undo" else who_answers(facts)
    while what == "wait" and len(found) < len(facts) - 1:
        found = who_answers(facts)
    print(json.dumps(found))  # noqa: T201


def who_answers(targets):
    """Try all at once; what those said who answered."""
    found = {}
    threads = [
        threading.Thread(target=ask, args=(found, name, *target))
        for name, target in targets.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def ask(found, name, host, port):
    """An IPv6 address of a link is asked for on every interface."""
    scopes = [""]
    if host.startswith("fe80:"):
        scopes = [f"%{interface}" for _, interface in socket.if_nameindex() if interface != "lo"]
    for scope in scopes:
        with suppress(OSError):
            [*_, (family, _, _, _, address)] = socket.getaddrinfo(
                host + scope, port, type=socket.SOCK_STREAM
            )
            with socket.socket(family) as connection:
                connection.settimeout(WAIT)
                connection.connect(address)
                if said := connection.recv(100).decode():
                    found[name] = [said]


def undone(facts):
    """What answers in the course of all that root may try, taken together."""
    found = {}
    for attempt in (flushed, asking_outside, routed, on_link, neighbour, knocked, bridged):
        for works in attempt(facts):
            if works:
                for name, said in who_answers(facts["targets"]).items():
                    found.setdefault(name, []).extend(said)
    return found


def flushed(facts):
    """Without the rules of the container, and with IPv6."""
    for program in ("iptables", "ip6tables"):
        for args in ("-F", "-P INPUT ACCEPT", "-P OUTPUT ACCEPT", "-t mangle -F"):
            with suppress(OSError):
                subprocess.run([program, *args.split()], capture_output=True, check=False)
    for path in ("all", "default", "eth0"):
        with suppress(OSError), open(f"/proc/sys/net/ipv6/conf/{path}/disable_ipv6", "w") as file:
            file.write("0")
    yield True


def asking_outside(facts):
    """With a resolver that the container was not given."""
    with open("/etc/resolv.conf") as file:
        before = file.read()
    write("/etc/resolv.conf", f"nameserver {facts['resolver']}\n")
    yield True
    write("/etc/resolv.conf", before)


def routed(facts):
    """With a way out over each of the host's addresses."""
    for interface in interfaces():
        for gateway in facts["gateways"]:
            yield add_route("0.0.0.0", "0.0.0.0", gateway, interface)
            add_route("0.0.0.0", "0.0.0.0", gateway, interface, delete=True)


def on_link(facts):
    """As if everybody were on this very link, at the host's hardware address."""
    for interface in interfaces():
        for mac in facts["macs"]:
            made = [
                add_route(target, "255.255.255.255", "0.0.0.0", interface)
                and teach(target, mac, interface)
                for target in facts["addresses"]
            ]
            yield any(made)
            for target in facts["addresses"]:
                teach(target, mac, interface, forget=True)
                add_route(target, "255.255.255.255", "0.0.0.0", interface, delete=True)


def neighbour(facts):
    """With an address like a sibling's."""
    for interface in interfaces():
        yield set_address(f"{interface}:1", facts["neighbour"])
        set_address(f"{interface}:1", "0.0.0.0")


def knocked(facts):
    """With datagrams in frames of one's own making; the host's service counts what it gets."""
    for interface in interfaces():
        for mac in facts["macs"]:
            for target in facts["addresses"]:
                knock(interface, mac, target, facts["port"])
    yield False


def bridged(facts):
    """Over new interfaces: those speak IPv6, whatever Docker told its own. The last one to try."""
    made = []
    for number, interface in enumerate(interfaces()):
        with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            name = f"over{number}"
            fcntl.ioctl(control, 0x89A0, name.encode().ljust(16, b"\0"))  # SIOCBRADDBR
            index = socket.if_nametoindex(interface)
            request = struct.pack("16si20x", name.encode(), index)
            fcntl.ioctl(control, 0x89A2, request)  # SIOCBRADDIF
            bring_up(control, name)
            made.append(name)
    wait_for_ipv6(made)
    yield bool(made)


def interfaces():
    return [name for _, name in socket.if_nameindex() if name.startswith("eth")]


def write(path, text):
    with suppress(OSError), open(path, "w") as file:
        file.write(text)


def wait_for_ipv6(interfaces):
    """Until the new ones have settled on an address; a tentative one cannot be used."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        with open("/proc/net/if_inet6") as file:
            ready = {line.split()[5] for line in file if not int(line.split()[4], 16) & 0x40}
        if ready >= set(interfaces):
            return
        time.sleep(0.1)


def control_socket(request, argument):
    """Whether the kernel did it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        try:
            fcntl.ioctl(control, request, argument)
        except OSError:
            return False
    return True


def bring_up(control, name):
    flags = struct.unpack(
        "16sh", fcntl.ioctl(control, 0x8913, struct.pack("16sh", name.encode(), 0))
    )
    fcntl.ioctl(control, 0x8914, struct.pack("16sh", name.encode(), flags[1] | 1))


def set_address(interface, address):
    return control_socket(0x8916, struct.pack("16s", interface.encode()) + ipv4(address))


def add_route(target, mask, gateway, interface, delete=False):
    flags = 1 | (2 if gateway != "0.0.0.0" else 0) | (4 if mask == "255.255.255.255" else 0)
    name = ctypes.create_string_buffer(interface.encode())
    addresses = (ipv4(target), ipv4(gateway), ipv4(mask))
    rest = (flags, 0, 0, 0, 0, 0, 0, 0, 0, ctypes.addressof(name), 0, 0, 0)
    entry = struct.pack("L16s16s16sHhLBBhhhhPLLH", 0, *addresses, *rest)  # the kernel's rtentry
    return control_socket(0x890C if delete else 0x890B, entry)


def teach(address, mac, interface, forget=False):
    """Have a neighbour's address by heart, so that nobody must answer for it."""
    hardware = struct.pack("H14s", 1, bytes.fromhex(mac.replace(":", "")))
    entry = ipv4(address) + hardware + struct.pack("i", 6) + ipv4("0.0.0.0")
    entry += interface.encode().ljust(16, b"\0")
    return control_socket(0x8953 if forget else 0x8955, entry)


def knock(interface, mac, target, port):
    """Send a datagram in a frame of one's own making; the host's service keeps what it gets."""
    with suppress(OSError), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as link:
        link.bind((interface, 0))
        said = b"knocked"
        datagram = struct.pack("!HHHH", 4000, port, 8 + len(said), 0) + said
        length = 20 + len(datagram)
        header = struct.pack("!BBHHHBBH", 0x45, 0, length, 1, 0, 64, 17, 0)
        header += socket.inet_aton("198.18.0.9") + socket.inet_aton(target)
        header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
        source = link.getsockname()[4]
        link.send(bytes.fromhex(mac.replace(":", "")) + source + b"\x08\x00" + header + datagram)


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ipv4(address):
    return struct.pack("H2s4s8x", socket.AF_INET, b"", socket.inet_aton(address))


if __name__ == "__main__":
    main()
