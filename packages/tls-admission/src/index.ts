export { connectionId } from "./connection-id.js";
export { type HandshakeLimits, HandshakeQueue } from "./handshake-queue.js";
export { LoopTimers } from "./loop-timers.js";
export { type HandshakeOptions, paceConnections, paceHandshakes, type WaitObserver } from "./paced-handshakes.js";
