// The measured workflows.

export const stepsPerRun = 30;
const shortRun = 3;

export type WorkflowName = 'literals' | 'expressions' | 'short' | 'triggered';

interface MeasuredWorkflow {
  readonly definition: object;
  readonly trigger: object;
}

const manual = { config: { trigger_type: 'manual' } };

const define = (name: string, count: number, set: (n: number) => object): object => ({
  document: { dsl: '1.0.0', namespace: 'bench', name, version: '1.0.0' },
  do: Array.from({ length: count }, (_, n) => ({ [`task${n}`]: { set: set(n) } })),
});

const literal = (n: number) => ({ n, note: 'a value of a usual size, so its bytes count' });

export const definitions: Readonly<Record<WorkflowName, MeasuredWorkflow>> = {
  literals: { definition: define('literals', stepsPerRun, literal), trigger: manual },
  expressions: { definition: define('expressions', stepsPerRun, () => ({ n: '${ .n + 1 }' })), trigger: manual },
  short: { definition: define('short', shortRun, literal), trigger: manual },
  triggered: {
    definition: define('triggered', 1, literal),
    trigger: { config: { trigger_type: 'entity', entity_name: 'Task', event_types: ['create'] } },
  },
};
