// Callers of istiod in a process of their own: each message is an order, and its answer a report.
import { arrive } from "./arrival.js";
import { requestCertificates } from "./issuance.js";
import type { CallerOrder, CallerReport } from "./messages.js";

function carryOut(order: CallerOrder): Promise<CallerReport> {
  return order.kind === "issuance" ? requestCertificates(order) : arrive(order);
}

if (process.send !== undefined) {
  process.on("message", (order: CallerOrder) => {
    carryOut(order).then(
      (report) => process.send?.(report),
      (error: unknown) => {
        throw error;
      },
    );
  });
  process.on("disconnect", () => process.exit());
}
