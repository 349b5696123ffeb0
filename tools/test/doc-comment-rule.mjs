const opener = "(What|Who|Whoever|How|Where|Whether|Which|Why|That which)\\b";
const patterns = {
  /** Doc comments. */
  doc: new RegExp(`^\\*(?:\\s*\\*)?\\s*${opener}`),
  /** All comments. */
  all: new RegExp(`^[*/\\s]*${opener}`),
};

/**
 * ESLint rule: a doc comment begins with a verb in the third person or with a noun. The option `all` applies it to all
 * comments, for languages in which each one is documentation.
 *
 * @type {import("eslint").Rule.RuleModule}
 */
export default {
  meta: {
    type: "suggestion",
    schema: [{ enum: Object.keys(patterns) }],
    defaultOptions: ["doc"],
    messages: {
      relative: 'Begin with a verb ("Returns", "Reports whether") or a noun instead of "{{word}}".',
    },
  },
  create: (context) => {
    const [comments] = context.options;
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          if (comments === "doc" && comment.type !== "Block") continue;
          const word = patterns[comments].exec(comment.value)?.[1];
          if (word !== undefined) context.report({ loc: comment.loc, messageId: "relative", data: { word } });
        }
      },
    };
  },
};
