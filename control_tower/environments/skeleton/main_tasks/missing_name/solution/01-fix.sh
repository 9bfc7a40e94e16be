sed -i "s/query\['name'\]\[0\]/query.get('name', ['stranger'])[0]/" serve.py
sh start.sh
