#!/usr/bin/env bash
# Go cannot read a certificate of which one URI among the SANs has an absolute domain (with a dot at its end, which
# RFC 3986 allows) or a host with percent signs, not even a certificate whose other names are all that matter: parsing
# fails, so that a handshake with such a server fails whatever it is asked for. Node and Python (cryptography) read the
# same certificates, with the URIs as they are. Ports, addresses, underscores and URIs without a host are no trouble.
# Seen with crypto/x509 of Go 1.26.8, and with handshakes that verify another name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "cryptography==46.0.3"
cat > make.py <<'PY'
import datetime, json
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "web.test")])
now = datetime.datetime.now(datetime.timezone.utc)
made = []
for uri in ["spiffe://mesh.test/ns/shop/sa/web", "spiffe://mesh_1.test/web", "https://[::1]:8443/", "urn:example:web",
            "spiffe://mesh.test./ns/shop/sa/web", "https://web.test./", "https://caf%C3%A9.test/"]:
    names = x509.SubjectAlternativeName([x509.DNSName("web.test"), x509.UniformResourceIdentifier(uri)])
    certificate = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=1)).add_extension(names, False).sign(key, hashes.SHA256()))
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    read = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(x509.SubjectAlternativeName)
    python = uri in read.value.get_values_for_type(x509.UniformResourceIdentifier)
    made.append({"uri": uri, "certificate": pem.decode(), "python": python, "key": key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()})
json.dump(made, open("made.json", "w"))
PY
cat > main.go <<'GO'
package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"os"
)

func main() {
	content, _ := os.ReadFile("made.json")
	var made []struct{ URI, Certificate string }
	if err := json.Unmarshal(content, &made); err != nil {
		panic(err)
	}
	for i, each := range made {
		block, _ := pem.Decode([]byte(each.Certificate))
		result := "reads it"
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			result = "fails"
		}
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(each.Certificate))
		connection, err := net.Dial("tcp", os.Args[1+i])
		if err != nil {
			panic(err)
		}
		client := tls.Client(connection, &tls.Config{RootCAs: roots, ServerName: "web.test"})
		if err := client.Handshake(); err == nil {
			result += ", handshake succeeds"
		} else {
			result += ", handshake fails"
		}
		connection.Close()
		fmt.Println(result)
	}
}
GO
cat > run.mjs <<'JS'
import { spawnSync, spawn } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { connect, createServer } from "node:tls";

const made = JSON.parse(readFileSync("made.json", "utf8"));
const servers = await Promise.all(made.map(({ key, certificate }) =>
  new Promise((resolve) => {
    const server = createServer({ key, cert: certificate }, (socket) => socket.on("error", () => {}));
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1", () => resolve(server));
  })));
const ports = servers.map((server) => server.address().port);
const byNode = (port, ca) => new Promise((resolve) => {
  const socket = connect({ host: "127.0.0.1", port, ca, servername: "web.test" });
  const end = (answer) => () => resolve((socket.destroy(), answer));
  socket.on("secureConnect", end("handshake succeeds")).on("error", end("handshake fails"));
});
const go = spawn("./client", ports.map((port) => `127.0.0.1:${port}`), { stdio: ["ignore", "pipe", "inherit"] });
let output = "";
go.stdout.on("data", (data) => (output += data));
await new Promise((resolve) => go.on("close", resolve));
const lines = output.trim().split("\n");
const version = spawnSync("go", ["env", "GOVERSION"], { encoding: "utf8" }).stdout.trim();
console.log(`${"URI".padEnd(38)}${version.padEnd(32)}${`Node ${process.version}`.padEnd(32)}cryptography 46.0.3`);
let failed = lines.length !== made.length;
for (const [i, { uri, certificate, python }] of made.entries()) {
  const read = new X509Certificate(certificate).subjectAltName.includes(`URI:${uri}`) ? "reads it" : "fails";
  const node = `${read}, ${await byNode(ports[i], certificate)}`;
  console.log(`${uri.padEnd(38)}${lines[i].padEnd(32)}${node.padEnd(32)}${python ? "reads it" : "fails"}`);
  const wanted = /\.\/|%/.test(uri) ? "fails, handshake fails" : "reads it, handshake succeeds";
  failed ||= lines[i] !== wanted || node !== "reads it, handshake succeeds" || !python;
}
process.exit(failed ? 1 : 0);
JS
venv/bin/python make.py
export GOWORK=off GOTOOLCHAIN=go1.26.8
go mod init finding 2> /dev/null
go build -o client .
node run.mjs
