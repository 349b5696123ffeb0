import { equal } from "node:assert/strict";
import { addressGroup, isLoopback } from "@istiod/peer-address";

equal(addressGroup("2001:db8:1:2::42"), "2001:db8:1:2::/64");
equal(addressGroup("::ffff:10.0.0.1"), "10.0.0.1");
equal(isLoopback("127.0.0.1"), true);
