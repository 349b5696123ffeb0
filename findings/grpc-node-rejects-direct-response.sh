#!/usr/bin/env bash
# One route that answers by itself or redirects takes a gRPC client in Node all other routes of its configuration: it
# rejects the configuration as a whole, and calls of every method wait for their deadline. Clients with the C core (here
# Python) fail the calls that match the route with UNAVAILABLE, as gRFC A28 has it, and serve the others. A route by
# `cluster_header`, which both do not know either, is passed over by both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
  "grpcio==1.85.3" "xds-protos==1.85.0" "protobuf==7.36.2"
npm install --silent --no-audit --no-fund --prefix "$folder" @grpc/grpc-js@1.14.7 @grpc/grpc-js-xds@1.14.1
cat > "$folder/call.mjs" <<'JS'
import { credentials, Client, Metadata, status } from "@grpc/grpc-js";
import { register } from "@grpc/grpc-js-xds";
register();
const [target, method, ...headers] = process.argv.slice(2);
const client = new Client(target, credentials.createInsecure());
const metadata = new Metadata();
for (const header of headers) metadata.set(...header.split("="));
const same = (bytes) => bytes;
const options = { deadline: Date.now() + 5_000 };
client.makeUnaryRequest(method, same, same, Buffer.alloc(0), metadata, options, (error, answer) => {
  console.log(error ? status[error.code] : String(answer));
  process.exit(0);
});
JS
cat > "$folder/run.py" <<'PY'
import json, os, subprocess, sys, time
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

# The first route does not concern the method that is called.
actions = {
    "route": {"route": {"cluster": "first"}},
    "direct-response": {"direct_response": {"status": 403}},
    "redirect": {"redirect": {"path_redirect": "/other"}},
    "cluster-header": {"route": {"cluster_header": "cluster"}},
}

def virtual_hosts(service):
    return [{"name": "all", "domains": ["*"], "routes": [
        {"match": {"path": "/test/other"}, **actions[service]},
        {"match": {"prefix": ""}, "route": {"cluster": "second"}}]}]

def resource(kind, name):
    if kind == "Listener":
        return {"name": name, "api_listener": {"api_listener": {
            "@type": manager,
            "http_filters": [
                {"name": "router", "typed_config": {"@type": types + "extensions.filters.http.router.v3.Router"}}],
            "rds": {"route_config_name": name, "config_source": {"ads": {}}}}}}
    if kind == "RouteConfiguration":
        return {"name": name, "virtual_hosts": virtual_hosts(name)}
    if kind == "Cluster":
        return {"name": name, "type": "EDS", "eds_cluster_config": {"eds_config": {"ads": {}}}}
    return {"cluster_name": name, "endpoints": [{"locality": {"region": "r"}, "load_balancing_weight": 1,
        "lb_endpoints": [{"endpoint": {"address": {"socket_address":
            {"address": "127.0.0.1", "port_value": ports[name]}}}}]}]}

def discovery(requests, _):
    sent = {}
    for request in requests:
        names = list(request.resource_names)
        if names == sent.get(request.type_url): continue
        sent[request.type_url] = names
        kind = request.type_url.split(".")[-1]
        yield json_format.ParseDict({"version_info": "1", "nonce": "1", "type_url": request.type_url,
            "resources": [{"@type": request.type_url, **resource(kind, name)} for name in names]},
            discovery_pb2.DiscoveryResponse())


class Services(grpc.GenericRpcHandler):
    """The server of configuration, and the servers of both clusters, each of which answers with its name."""
    def __init__(self, name): self.name = name.encode()
    def service(self, call):
        if call.method.endswith("/StreamAggregatedResources"):
            return grpc.stream_stream_rpc_method_handler(discovery,
                discovery_pb2.DiscoveryRequest.FromString, discovery_pb2.DiscoveryResponse.SerializeToString)
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self.name)

servers, ports = [], {}
for name in ("first", "second"):
    server = grpc.server(futures.ThreadPoolExecutor(32))
    server.add_generic_rpc_handlers((Services(name),))
    ports[name] = server.add_insecure_port("127.0.0.1:0")
    server.start()
    servers.append(server)
os.environ["GRPC_XDS_BOOTSTRAP_CONFIG"] = json.dumps({"node": {"id": "client", "locality": {}}, "xds_servers": [
    {"server_uri": f"127.0.0.1:{ports['first']}", "channel_creds": [{"type": "insecure"}],
     "server_features": ["xds_v3"]}]})

def by_python(service, method, headers):
    with grpc.insecure_channel(f"xds:///{service}") as channel:
        try:
            metadata = [tuple(header.split("=")) for header in headers]
            return channel.unary_unary(method)(b"", timeout=5, metadata=metadata).decode()
        except grpc.RpcError as error:
            return error.code().name

def by_node(service, method, headers):
    return subprocess.run(["node", f"{folder}/call.mjs", f"xds:///{service}", method, *headers],
        stdout=subprocess.PIPE, check=True, timeout=60, text=True).stdout.strip()

expected = {
    ("route", "/test/call"): ("second", "second"),
    ("route", "/test/other"): ("first", "first"),
    ("cluster-header", "/test/call"): ("second", "second"),
    ("cluster-header", "/test/other"): ("second", "second"),
    ("direct-response", "/test/call"): ("second", "DEADLINE_EXCEEDED"),
    ("direct-response", "/test/other"): ("UNAVAILABLE", "DEADLINE_EXCEEDED"),
    ("redirect", "/test/call"): ("second", "DEADLINE_EXCEEDED"),
    ("redirect", "/test/other"): ("UNAVAILABLE", "DEADLINE_EXCEEDED"),
}
found = {(name, method): tuple(call(name, method, []) for call in (by_python, by_node)) for name, method in expected}
print(f"{'action of /test/other':<24}{'call':<14}{'Python ' + grpc.__version__:<16}"
      "Node, grpc-js 1.14.7 and grpc-js-xds 1.14.1")
for (name, method), (python, node) in found.items(): print(f"{name:<24}{method:<14}{python:<16}{node}")
for server in servers: server.stop(0)
sys.exit(0 if found == expected else 1)
PY
GRPC_VERBOSITY=NONE "$folder/venv/bin/python" "$folder/run.py" "$folder"
