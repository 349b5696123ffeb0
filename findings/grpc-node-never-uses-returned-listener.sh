#!/usr/bin/env bash
# A gRPC client in Node whose Listener was absent for a moment fails all calls from then on, also when the Listener is
# back: it acknowledges it, but does not ask for the routes that it names again. It recovers if the Listener comes back
# with another name of its routes. A client with the C core (here Python) recovers with the same Listener.
# Seen with one xDS server that removes the Listener from its answer, sends it again, and then names other routes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  "grpcio==1.85.3" "xds-protos==1.85.0" "protobuf==7.36.2"
npm install --silent --no-audit --no-fund --prefix "$folder" @grpc/grpc-js@1.14.7 @grpc/grpc-js-xds@1.14.1
cat > "$folder/client.mjs" <<'JS'
// Calls once for each line of the input and prints the status.
import { createInterface } from "node:readline";
import { credentials, Client, status } from "@grpc/grpc-js";
import { register } from "@grpc/grpc-js-xds";
register();
const client = new Client("xds:///service", credentials.createInsecure());
const same = (bytes) => bytes;
createInterface({ input: process.stdin }).on("line", () => {
  const options = { deadline: Date.now() + 5_000 };
  client.makeUnaryRequest("/test/call", same, same, Buffer.alloc(0), options, (error) =>
    console.log(status[error?.code ?? status.OK]));
});
JS
cat > "$folder/run.py" <<'PY'
import json, os, queue, subprocess, sys, threading, time
from concurrent import futures
import grpc
from google.protobuf import json_format
from envoy.config.cluster.v3 import cluster_pb2
from envoy.config.endpoint.v3 import endpoint_pb2
from envoy.config.listener.v3 import listener_pb2
from envoy.config.route.v3 import route_pb2
from envoy.extensions.filters.http.router.v3 import router_pb2
from envoy.extensions.filters.network.http_connection_manager.v3 import http_connection_manager_pb2
from envoy.service.discovery.v3 import discovery_pb2

folder = sys.argv[1]
types = "type.googleapis.com/envoy."
manager = types + "extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
version, routes = 1, "routes"

def resources(kind, name):
    if kind == "Listener":
        return [{"name": name, "api_listener": {"api_listener": {
            "@type": manager,
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "rds": {"route_config_name": routes, "config_source": {"ads": {}}}}}}] if routes else []
    if kind == "RouteConfiguration":
        return [{"name": name, "virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"match": {"prefix": ""}, "route": {"cluster": "server"}}]}]}]
    if kind == "Cluster":
        return [{"name": name, "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}}}]
    return [{"cluster_name": name, "endpoints": [{"locality": {"region": "r"}, "load_balancing_weight": 1,
        "lb_endpoints": [{"endpoint": {"address": {"socket_address":
            {"address": "127.0.0.1", "port_value": port}}}}]}]}]

def discovery(requests, _):
    """Answers requests for other names than before, and sends the Listener after each change of the version."""
    received, names, sent = queue.Queue(), {}, version

    def read():
        try:
            for request in requests: received.put(request)
        except Exception:
            pass
        received.put(None)

    def response(url):
        kind = url.split(".")[-1]
        return json_format.ParseDict({"version_info": str(version), "nonce": "1", "type_url": url,
            "resources": [{"@type": url, **each} for name in names[url] for each in resources(kind, name)]},
            discovery_pb2.DiscoveryResponse())

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            request = received.get(timeout=0.1)
        except queue.Empty:
            if sent != version:
                sent = version
                for url in [each for each in names if each.endswith(".Listener")]: yield response(url)
            continue
        if request is None: return
        if names.get(request.type_url) == list(request.resource_names): continue
        names[request.type_url] = list(request.resource_names)
        yield response(request.type_url)

class Services(grpc.GenericRpcHandler):
    def service(self, call):
        if call.method.endswith("/StreamAggregatedResources"):
            return grpc.stream_stream_rpc_method_handler(discovery,
                discovery_pb2.DiscoveryRequest.FromString, discovery_pb2.DiscoveryResponse.SerializeToString)
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")

server = grpc.server(futures.ThreadPoolExecutor(32))
server.add_generic_rpc_handlers((Services(),))
port = server.add_insecure_port("127.0.0.1:0")
server.start()
os.environ["GRPC_XDS_BOOTSTRAP_CONFIG"] = json.dumps({"node": {"id": "client", "locality": {}}, "xds_servers": [
    {"server_uri": f"127.0.0.1:{port}", "channel_creds": [{"type": "insecure"}], "server_features": ["xds_v3"]}]})
channel = grpc.insecure_channel("xds:///service")
node = subprocess.Popen(["node", f"{folder}/client.mjs"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

def by_python():
    try:
        channel.unary_unary("/test/call")(b"", timeout=5)
        return "OK"
    except grpc.RpcError as error:
        return error.code().name

def by_node():
    node.stdin.write("\n")
    node.stdin.flush()
    return node.stdout.readline().strip()

def settled(call, wanted):
    """Calls until the status is the wanted one, at most for 15 s, and returns the last status."""
    start, code = time.monotonic(), call()
    while code != wanted and time.monotonic() - start < 15:
        time.sleep(0.2)
        code = call()
    return code

found = {}
try:
    for step, name, wanted in [("a Listener", "routes", "OK"), ("no Listener", None, "UNAVAILABLE"),
                               ("the Listener again", "routes", "OK"), ("with other routes", "more routes", "OK")]:
        routes, version = name, version + 1
        found[step] = (settled(by_python, wanted), settled(by_node, wanted))
finally:
    node.kill()
print(f"{'':<22}{'Python ' + grpc.__version__:<16}Node, grpc-js 1.14.7 and grpc-js-xds 1.14.1")
for step, (python, js) in found.items(): print(f"{step:<22}{python:<16}{js}")
expected = [("OK", "OK"), ("UNAVAILABLE", "UNAVAILABLE"), ("OK", "UNAVAILABLE"), ("OK", "OK")]
channel.close()
server.stop(0)
sys.exit(0 if list(found.values()) == expected else 1)
PY
GRPC_VERBOSITY=NONE "$folder/venv/bin/python" "$folder/run.py" "$folder"
