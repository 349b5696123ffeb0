import { deepEqual, equal, match } from "node:assert/strict";
import { analyzeCommand, analyzeExits, validateCommand } from "@istiod/commands";

const gateway = `
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: cart, namespace: shop}
spec: {hosts: [cart], gateways: [front], http: [{route: [{destination: {host: cart}}]}]}
`;
let printed = "";
const statuses: number[] = [];
const output = {
  print: (text: string) => void (printed += text),
  warn: (text: string) => void (printed += text),
  exit: (status: number) => void statuses.push(status),
  stdin: () => Promise.resolve(gateway),
  isColorTerminal: false,
};
await validateCommand(output).parseAsync(["-f", "-"], { from: "user" });
equal(printed, '"-" is valid\n');
await analyzeCommand({}, output).parseAsync(["-"], { from: "user" });
match(printed, /Error \[IST0101\] \(VirtualService shop\/cart -:5\) /);
deepEqual(statuses, [0, analyzeExits.found]);
