import { equal } from "node:assert/strict";
import { findKeyPair, findRootCertificates, keyPairFault, rootsFault } from "@istiod/credentials";

const bytes = (text: string) => new TextEncoder().encode(text);
const secret = { "tls.crt": bytes("not a certificate"), "tls.key": bytes("a key"), "ca.crt": bytes("") };

const pair = findKeyPair(secret);
equal(pair && keyPairFault(pair, "server"), "the certificate is not PEM");
// An entry that is empty is none.
equal(findRootCertificates(secret), undefined);
equal(rootsFault({ certificates: bytes("a") }), "there is no root certificate in PEM");
