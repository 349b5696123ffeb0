import { deepEqual, equal } from "node:assert/strict";
import {
  encodeFrame,
  encodeMessageField,
  encodeStringField,
  FieldReader,
  FrameReader,
  readStringField,
} from "@istiod/protobuf-wire";

// message Any { string type_url = 1; bytes value = 2; }
const value = encodeStringField(1, "cart");
const any = Buffer.concat([encodeStringField(1, "type.googleapis.com/shop.Item"), encodeMessageField(2, [value])]);
equal(readStringField(any, 1), "type.googleapis.com/shop.Item");

const numbers: number[] = [];
const reader = new FieldReader(any);
while (reader.next()) numbers.push(reader.field);
deepEqual(numbers, [1, 2]);

const [frame] = new FrameReader().push(encodeFrame(any));
equal(frame?.message.length, any.length);
