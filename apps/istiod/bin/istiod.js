#!/usr/bin/env node
import { run } from "../bundle/main.js";

await run(process.argv);
