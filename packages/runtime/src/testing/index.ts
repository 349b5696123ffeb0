export { FakeClock } from "./fake-clock.js";
export { maxPendingConnections, pendingConnections } from "./pending-connections.js";
