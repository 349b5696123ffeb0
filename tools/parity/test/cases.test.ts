import { agreementWith } from "./agreement.js";

agreementWith("cases", () => true);
