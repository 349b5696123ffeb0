import { equal, throws } from "node:assert/strict";
import { goFunction, goMap, GoStruct, parseTemplate, stringType } from "@istiod/go-template";
import { sprigFunctions } from "@istiod/go-template/sprig";

const functions = {
  ...sprigFunctions(),
  greet: goFunction([stringType], stringType, (name) => `Hello, ${name}`),
};
const template = parseTemplate("pod", "{{ greet .pod.Name | quote }}{{ range .ports }} {{ add . 1 }}{{ end }}", {
  functions,
});

const pod = new GoStruct("v1.Pod", { Name: "web", Labels: goMap(stringType, { app: "web" }) });
equal(template.execute({ pod, ports: [80, 443] }), '"Hello, web" 81 444');

const wrong = parseTemplate("pod", "\n{{ .pod.Nam }}", { functions });
throws(() => wrong.execute({ pod }), {
  message: `template: pod:2:7: executing "pod" at <.pod.Nam>: can't evaluate field Nam in type interface {}`,
});
