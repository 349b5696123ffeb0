import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { ClusterSchema } from "@istiod/envoy-api/envoy/config/cluster/v3/cluster";
import { ClusterLoadAssignmentSchema } from "@istiod/envoy-api/envoy/config/endpoint/v3/endpoint";
import { encodeMessageField, encodeStringField, FieldReader, joinEncoded } from "@istiod/protobuf-wire";

// A thousand localities, encoded once.
const endpoints = Array.from({ length: 1000 }, (_, i) => ({ locality: { zone: `zone-${i}` } }));
const shared = toBinary(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { endpoints }));

/** Clusters that differ in their names only. Concatenated encodings are the encoding of the merged message. */
function cluster(name: string): Uint8Array {
  const loadAssignment = encodeMessageField(33, [encodeStringField(1, name), shared]);
  return joinEncoded([encodeStringField(1, name), loadAssignment]);
}

const encoded = cluster("cart");
const decoded = fromBinary(ClusterSchema, encoded);
console.log(
  `${decoded.name}: ${decoded.loadAssignment?.endpoints.length} localities of ${decoded.loadAssignment?.clusterName}`,
);

// Reading a message without its schema.
const reader = new FieldReader(encoded);
while (reader.next()) console.log(`field ${reader.field}, wire type ${reader.wireType}`);
