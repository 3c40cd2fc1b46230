// The tools for reading and changing the app's entities: their schemas and rules.
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { ToolError } from '../../../core/turns/tools.ts';
import type { HeldOpening, SchemaDocument, SchemaPreview } from '../draft.ts';
import { describeHeld } from '../held-rules.ts';
import { type BuilderTool, defineTool } from './tool.ts';

const name = z.string().min(1).max(100).describe('For example Task');

const listEntities = defineTool({
  name: 'list_entities',
  description: 'Lists the entities of the app with their fields.',
  parameters: z.object({}),
  async run(_input, { db, access, draft }) {
    const schemas = await draft.listSchemas(db, access);
    if (schemas.length === 0) return 'The app has no entities.';
    const describe = ({ properties }: Record<string, unknown>) => Object.keys(properties ?? {}).join(', ');
    return schemas.map(({ name, document }) => `${name}: ${describe(document)}`).join('\n');
  },
});

const readEntity = defineTool({
  name: 'read_entity',
  description: 'Reads the schema of an entity: its fields and its rules.',
  parameters: z.object({ name }),
  async run({ name }, { db, access, draft }) {
    const schema = await draft.readSchema(db, access, name);
    if (schema === undefined) throw new ToolError('There is no entity with this name. List the entities.');
    return JSON.stringify(schema, null, 2);
  },
});

const maxSchemaCharacters = 200_000;

const saveEntity = defineTool({
  name: 'save_entity',
  description:
    'Creates an entity, or replaces its whole schema. Read an entity before you replace it. The result says what is not valid, which operations are closed, and what changes for records that exist.',
  parameters: z.object({
    name,
    schema: z
      .record(z.string(), z.unknown())
      .describe('{"name", "properties": {…}, "required": […], "rls": {"read", "create", "update", "delete"}}'),
  }),
  async run({ name, schema }, { db, access, draft, schemas, now }) {
    if (JSON.stringify(schema).length > maxSchemaCharacters) throw new ToolError('The schema is too long.');
    const document: SchemaDocument = { name, ...schema };
    const before = await draft.readSchema(db, access, name);
    if (before !== undefined && canonicalize(before) === canonicalize(document)) return 'It is the same already.';
    const preview = await schemas.preview(db, access, name, document, now);
    const { held } = await schemas.separate(db, access, [document], now);
    draft.saveSchema(name, document);
    return describePreview(preview, held);
  },
});

function describePreview(
  { created, closed_operations, open_operations, impact }: SchemaPreview,
  held: readonly HeldOpening[],
): string {
  const { records, violating_records, fields_removed } = impact;
  return [
    created ? 'Created.' : 'Replaced.',
    closed_operations.length > 0 &&
      `No rule: ${closed_operations.join(', ')}. Users of the app and anonymous callers can't do this until you write a rule.`,
    open_operations.length > 0 &&
      `Open to everybody, also without sign-in: ${open_operations.join(', ')}. Is this meant?`,
    fields_removed.length > 0 && `Removed fields: ${fields_removed.join(', ')}. The entity has ${records} records.`,
    violating_records > 0 && `${violating_records} records that exist do not satisfy the new schema.`,
    held.length > 0 &&
      `Held, because it would open data: ${held.map(describeHeld).join('; ')}. When you finish, this is not applied but proposed to the person, who decides. Say so in your summary. If it isn't meant, save the entity with narrower rules.`,
  ]
    .filter((line) => line !== false)
    .join('\n');
}

export const entityTools: readonly BuilderTool[] = [listEntities, readEntity, saveEntity];
