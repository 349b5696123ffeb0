import { deepEqual } from "node:assert/strict";
import { analyzeTexts } from "@istiod/analysis";

const text = `
apiVersion: v1
kind: Service
metadata: {name: cart, namespace: shop}
spec:
  selector: {app: cart}
  ports:
  - {name: web, port: 80}
`;
const { messages } = analyzeTexts({ files: [{ file: "cart.yaml", text }] });
deepEqual(
  messages.map(({ code, level, origin, reference }) => [code, level, origin, reference]),
  [["IST0118", "Info", "Service shop/cart", "cart.yaml:8"]],
);
