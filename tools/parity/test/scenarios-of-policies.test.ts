import { agreementWith, groupOf } from "./agreement.js";

const elsewhere = ["routing", "service-entry", "gateway", "gateway-api", "security"];

agreementWith("scenarios", (s) => !elsewhere.includes(groupOf(s)));
