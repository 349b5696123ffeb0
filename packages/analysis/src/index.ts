/** Findings about the configuration of a mesh. This file is the whole public surface. */
export { type AnalysisContext, type Analyzer, type Rule } from "./analyzer.js";
export { analyzers } from "./analyzers.js";
export { type Code, type Level, levels, messageTypes, type MessageType } from "./codes.js";
export { type AddedFindings, type ObjectWrite } from "./added-findings.js";
export { addedWarnings, type AddedWarningsOptions, type WrittenObject } from "./added-warnings.js";
export { type Finding, formatOrigin, levelOf, type Origin } from "./finding.js";
export { findings, findingsOf } from "./findings.js";
export { codeOfProblem } from "./messages/problems.js";
export {
  isAtLeast,
  type Message,
  messageOfCode,
  type MessageOfCode,
  messageOfFinding,
  messageOfProblem,
  type Reference,
  sortMessages,
} from "./messages/message.js";
export { type Analysis, analyzeTexts, type ObjectFile, type TextFile, type TextsToAnalyze } from "./analyze-texts.js";
export { isSuppressed, isSuppressedByObject, parseSuppression, type Suppression } from "./messages/suppression.js";
export { type Format, type FormattedMessage, formatMessages, formats } from "./messages/format.js";
export { selectMessages, type Selection } from "./messages/select.js";
export { LiveAnalysis, type LiveAnalysisOptions } from "./live-analysis.js";
export { kindsThatMayLackEffect, reasonWithoutEffect } from "./queries/reasons-without-effect.js";
export { now, nowKey, writeNow } from "./now.js";
export { writeServed } from "./served.js";
export {
  consequenceWithoutHttp,
  type RuleOfUndeclaredPorts,
  rulesOfUndeclaredPorts,
} from "./queries/undetected-http.js";
