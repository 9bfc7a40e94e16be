# Starts the greeter again, and waits until it answers.
answers() {
    python3 -c "import socket; socket.create_connection(('127.0.0.1', 8080), 1)" 2>/dev/null
}
if [ -f server.pid ]; then
    kill "$(cat server.pid)"
    while kill -0 "$(cat server.pid)" 2>/dev/null; do sleep 0.1; done
fi
setsid nohup python3 serve.py >server.log 2>&1 </dev/null &
echo $! >server.pid
tries=0
until answers || [ "$tries" -ge 50 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
