import type { ReflectorEvent, ReflectorHandler, ReflectorState } from "@istiod/kubernetes";

/** Records events as `+shop/cart@1` and `-shop/cart`, and the phases of states. */
export class RecordingHandler implements ReflectorHandler<Record<string, unknown>> {
  readonly log: string[] = [];
  readonly objects = new Map<string, Record<string, unknown>>();
  readonly states: ReflectorState[] = [];

  events(events: readonly ReflectorEvent<Record<string, unknown>>[]): void {
    for (const event of events) {
      const key = `${event.namespace}/${event.name}`;
      if (event.type === "set") {
        this.objects.set(key, event.object);
        this.log.push(`+${key}@${event.resourceVersion}`);
      } else {
        this.objects.delete(key);
        this.log.push(`-${key}`);
      }
    }
  }

  state(state: ReflectorState): void {
    this.states.push(state);
    this.log.push(state.phase);
  }
}
