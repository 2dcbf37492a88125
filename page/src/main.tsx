import { render, type ComponentType } from "preact";
import { ClassifierPage } from "./classifier";
import { BetaPage, DensitiesPage, RulePage } from "./lessons";
import { setStart } from "./link";
import { NetworkPage } from "./network";
import "./page.css";
import { RegionsPage } from "./regions";
import { SequencePage } from "./sequence";
import { TopicsPage } from "./topics";

export * from "./score";
export { JunctionTree } from "./junction";
export { unroll } from "./trellis";
export { Tokenizer } from "./tokenizer";

/** Components by the name in <div data-bayeskit="classifier" data-payload="id of its JSON">. */
const COMPONENTS: Record<string, ComponentType<{ data: any }>> = {
  classifier: ClassifierPage, network: NetworkPage, sequence: SequencePage,
  rule: RulePage, beta: BetaPage, densities: DensitiesPage, topics: TopicsPage, regions: RegionsPage,
};

for (const element of document.querySelectorAll<HTMLElement>("[data-bayeskit]")) {
  const Part = COMPONENTS[element.dataset.bayeskit ?? ""];
  const source = document.getElementById(element.dataset.payload ?? "");
  if (!Part || !source) continue;
  const data = JSON.parse(source.textContent ?? "null");
  setStart(data.first_case ?? "");
  render(<Part data={data} />, element);
}
