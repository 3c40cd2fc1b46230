// Describes which values each schema field accepts, for the search for openings (rules/openings/openings.ts).
import { StepBudgetExceeded } from '../rules/budget.ts';
import type { FieldShape, ObjectShape } from '../rules/openings/values.ts';
import type { Choices } from './choices.ts';
import type { Field, Fields } from './field.ts';
import type { FormatName } from './formats.ts';
import { type Validation, validateValue } from './values.ts';

/** All values share the validation's pattern budget. Throws StepBudgetExceeded if it is used up. */
export const describeFields = ({ fields, required }: Fields, validation: Validation): ObjectShape => ({
  fields: new Map([...fields].map(([name, field]) => [name, describeField(field, validation)])),
  required,
});

function describeField(field: Field, validation: Validation): FieldShape {
  return {
    types: field.types,
    isSelective: isSelective(field),
    samples: listSamples(field),
    hasDefault: field.default !== undefined,
    ...(field.enum !== undefined && { choices: listChoices(field.enum) }),
    ...(field.items !== undefined && { items: describeField(field.items, validation) }),
    ...(field.properties !== undefined && { properties: describeFields(field.properties, validation) }),
    accepts: (value) => isAccepted(field, value, validation),
  };
}

const isSelective = ({ pattern, format, minLength = 0, maxLength }: Field): boolean =>
  pattern !== undefined || format !== undefined || minLength > 0 || maxLength !== undefined;

const listChoices = ({ scalars, others }: Choices): unknown[] => [
  ...scalars,
  ...[...others].map((text): unknown => JSON.parse(text)),
];

function isAccepted(field: Field, value: unknown, validation: Validation): boolean {
  validation.faults.length = 0;
  validation.ignored.length = 0;
  validateValue(field, value, [], validation);
  if (validation.steps < 0) throw new StepBudgetExceeded('the pattern budget of the request is exceeded');
  return validation.faults.length === 0 && validation.ignored.length === 0;
}

const formatSamples: Readonly<Record<FormatName, readonly string[]>> = {
  date: ['2026-01-01', '2026-01-02'],
  'date-time': ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z'],
  time: ['12:00', '13:00'],
  email: ['someone@app.example', 'someone-else@app.example'],
  uri: ['https://app.example/', 'https://app.example/other'],
  hostname: ['app.example', 'other.example'],
  ipv4: ['192.0.2.1', '192.0.2.2'],
  ipv6: ['2001:db8::1', '2001:db8::2'],
  uuid: ['0198c208-0000-7000-8000-000000000001', '0198c208-0000-7000-8000-000000000002'],
  regex: ['a', 'b'],
  file: ['file'],
  richtext: ['text'],
};

const maxSampleLength = 1_000;

function listSamples({ default: initial, format, minLength = 0, minimum, maximum }: Field): unknown[] {
  const isLong = minLength > 1 && minLength <= maxSampleLength;
  return [
    ...(initial === undefined ? [] : [initial]),
    ...(format === undefined ? [] : formatSamples[format]),
    ...(isLong ? ['x'.repeat(minLength), 'y'.repeat(minLength)] : []),
    ...[minimum, maximum].flatMap((bound) => (bound === undefined ? [] : [bound, Math.ceil(bound), Math.floor(bound)])),
  ];
}
