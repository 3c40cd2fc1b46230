// A workflow whose run records a step a second for longer than the drill takes.
export const longWorkflow = {
  name: 'Waits',
  definition: {
    document: { dsl: '1.0.0', namespace: 'drill', name: 'waits', version: '1.0.0' },
    do: [{ repeat: { for: { in: '${ [range(1000)] }' }, do: [{ pause: { wait: { seconds: 1 } } }] } }],
  },
  trigger: { config: { trigger_type: 'manual' } },
};
