import { agreementWith, groupOf } from "./agreement.js";

const groups = ["routing", "service-entry", "gateway", "gateway-api", "security"];

agreementWith("scenarios", (s) => groups.includes(groupOf(s)));
