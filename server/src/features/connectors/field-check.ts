// The validation of user input: `connection_config` and `credentials` are checked against the connector's fields.
import { type Fault, ValidationError } from '../../kit/http/faults.ts';
import type { Connector, ConnectorField } from './catalogue.ts';

type Values = Readonly<Record<string, string | null>>;

export interface FieldValues {
  readonly config: Readonly<Record<string, string>>;
  readonly credentials: Readonly<Record<string, string>>;
  /** The names of values without a matching field. */
  readonly ignored: readonly string[];
}

/** Throws a 422 that lists all faults. The types and lengths of values were checked earlier. */
export function checkFields(
  { connection_config_fields, credential_fields }: Connector,
  sent: { readonly connection_config?: Values | undefined; readonly credentials?: Values | undefined },
): FieldValues {
  const config = readFields('connection_config', connection_config_fields, sent.connection_config);
  const credentials = readFields('credentials', credential_fields, sent.credentials);
  const ignored = [...config.ignored, ...credentials.ignored];
  const faults = [...config.faults, ...credentials.faults];
  if (faults.length > 0) throw new ValidationError(faults, ignored);
  return { config: config.values, credentials: credentials.values, ignored };
}

function readFields(property: string, fields: readonly ConnectorField[], sent: Values = {}) {
  const values: Record<string, string> = {};
  const faults: Fault[] = [];
  for (const { name, required, validation_pattern, validation_error } of fields) {
    const loc = ['body', property, name];
    const value = Object.hasOwn(sent, name) ? (sent[name] ?? undefined) : undefined;
    if (value === undefined && required) faults.push({ loc, msg: 'is required', type: 'missing' });
    if (value === undefined) continue;
    if (new RegExp(validation_pattern).test(value)) values[name] = value;
    else faults.push({ loc, msg: validation_error, type: 'string_pattern_mismatch' });
  }
  const known = new Set(fields.map(({ name }) => name));
  const ignored = Object.keys(sent)
    .filter((name) => !known.has(name))
    .map((name) => `${property}.${name}`);
  return { values, faults, ignored };
}
