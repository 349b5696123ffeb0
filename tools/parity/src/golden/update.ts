// Rewrites the golden files: `npm run golden:update` at the root of the repository.
import { updateGolden } from "./golden-files.js";

const changed = updateGolden();
for (const path of changed) console.log(path);
console.log(changed.length === 0 ? "golden files are up to date" : `${changed.length} golden files changed`);
