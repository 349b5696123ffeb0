export type { Peer, PeerTls, ResourceSource, SourceChange } from "./source.js";
export type * from "./events.js";
export type * from "./server.js";
