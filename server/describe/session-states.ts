// Docs/generated/coding-session-states.md, which lists a coding session's states. It is generated from the list
// that the code uses.
import { states, transitions } from '../src/features/coding-sessions/transitions.ts';

export const describeSessionStates = (): string => `# States of a coding session

Generated from \`server/src/features/coding-sessions/transitions.ts\` by \`npm run describe\`. What each state means is in
[coding sessions](../api/coding-sessions.md#states). The database refuses every move that is not listed here.

\`\`\`mermaid
stateDiagram-v2
  [*] --> queued: launch
${transitions.map(({ from, to, trigger }) => `  ${from} --> ${to}: ${trigger}`).join('\n')}
\`\`\`

| From | To | Because of |
|---|---|---|
${transitions.map(({ from, to, trigger }) => `| \`${from}\` | \`${to}\` | ${trigger} |`).join('\n')}

There are ${states.length} states.
`;
