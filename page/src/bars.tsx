/** Bars of probabilities, and numbers for people. */

export function percent(p: number): string {
  if (p > 0 && p < 0.0005) return "< 0.1%";
  if (p < 1 && p > 0.9995) return "> 99.9%";
  return `${(100 * p).toFixed(1)}%`;
}

export const short = (x: number): string => (x === -Infinity ? "−∞" : String(+x.toPrecision(4)).replace("-", "−"));

const MOST_BARS = 12;

/** One bar for each label, most probable first where there are many; `onPick` makes them buttons. */
export function Bars(props: { labels: string[]; values: number[]; before?: number[]; onPick?: (i: number) => void; picked?: number | null; marked?: number }) {
  const order = props.labels.map((_, i) => i);
  if (order.length > MOST_BARS) order.sort((a, b) => props.values[b] - props.values[a]);
  const shown = order.slice(0, MOST_BARS);
  const rest = order.slice(MOST_BARS).reduce((sum, i) => sum + props.values[i], 0);
  const top = Math.max(...props.values);
  return (
    <div class="bars">
      {shown.map((i) => {
        const bar = (
          <>
            <bdi class="name" title={props.labels[i]}>{props.marked === i && "★ "}{props.labels[i]}</bdi>
            <span class="track">
              <span class="fill" style={{ width: `${100 * props.values[i]}%` }} />
              {props.before && <span class="was" style={{ left: `${100 * props.before[i]}%` }} />}
            </span>
            <span class="figure">{percent(props.values[i])}</span>
          </>
        );
        const look = `bar${props.values[i] === top ? " top" : ""}${props.picked === i ? " picked" : ""}`;
        return props.onPick ? (
          <button key={i} type="button" class={look} aria-pressed={props.picked === i} onClick={() => props.onPick!(i)}>{bar}</button>
        ) : (
          <div key={i} class={look}>{bar}</div>
        );
      })}
      {order.length > MOST_BARS && <p class="note">{order.length - MOST_BARS} others: {percent(rest)} together</p>}
    </div>
  );
}
