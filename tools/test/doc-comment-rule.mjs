// ESLint rule: a doc comment begins with a verb in the third person or with a noun.
const relative = /^\*(?:\s*\*)?\s*(What|Who|Whoever|How|Where|Whether|That which)\b/;

/** @type {import("eslint").Rule.RuleModule} */
export default {
  meta: {
    type: "suggestion",
    schema: [],
    messages: {
      relative: 'Begin with a verb ("Returns", "Reports whether") or a noun instead of "{{word}}".',
    },
  },
  create: (context) => ({
    Program() {
      for (const comment of context.sourceCode.getAllComments()) {
        const [, word] = (comment.type === "Block" && relative.exec(comment.value)) || [];
        if (word !== undefined) context.report({ loc: comment.loc, messageId: "relative", data: { word } });
      }
    },
  }),
};
