// `plinthctl records`: imports and exports the records of an entity.

import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { EntityRecord, PlinthApp, RecordQuery } from '../../../sdk/src/index.ts';
import type { Cli, Define } from '../cli.ts';
import { formatCsvRow } from '../csv.ts';
import { CommandError } from '../exit.ts';
import { importRecords } from '../import-records.ts';
import { type AppOption, appOption } from '../options.ts';
import { isCsv, type RecordFields, readRecords } from '../record-files.ts';
import { parseJson } from '../values.ts';

interface ExportOptions extends AppOption {
  readonly query?: string;
  readonly csv?: boolean;
}

export const define: Define = (command, cli) => {
  command
    .command('import')
    .description('Create records from a file; started again after an interruption, it continues')
    .argument('<entity>', 'such as Order')
    .argument('<file>', 'CSV whose first row has the names of the fields, or one JSON object per line')
    .option(...appOption)
    .action((entity: string, file: string, options: AppOption) => importFile(cli, entity, file, options));
  command
    .command('export')
    .description('Write all records to a file, or to stdout')
    .argument('<entity>', 'such as Order')
    .argument('[file]', 'with the ending .csv it becomes CSV, otherwise one JSON object per line')
    .option(...appOption)
    .option('--query <json>', 'only records that match, such as \'{"state": "new"}\'')
    .option('--csv', 'write CSV to stdout')
    .action((entity: string, file: string | undefined, options: ExportOptions) => exportTo(cli, entity, file, options));
};

async function importFile(cli: Cli, entity_name: string, file: string, { app: named }: AppOption): Promise<void> {
  await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(`${file} can't be read (${error.code}).`, 'file_unreadable');
  });
  const { app, app_id } = await cli.connectToApp(named);
  const { schema } = await app.getEntitySchema({ entity_name });
  const total = await count(readRecords(file, schema));
  const { output, signal } = cli;
  const bar = output.progress('Importing', total);
  const deps = {
    app,
    app_id,
    signal,
    onContinue: (records: number) => output.say(`An earlier import stopped after ${records} records. Continuing.`),
    onProgress: (records: number) => bar.set(records),
  };
  const imported = await importRecords(deps, entity_name, file, readRecords(file, schema)).finally(bar.end);
  await output.show({ entity_name, imported }, () => `Imported ${imported} records of ${entity_name}.`);
}

/** Reads the whole file first: a mistake in its last line should not be found after half of the records are created. */
async function count(records: AsyncIterable<RecordFields>): Promise<number> {
  let number = 0;
  for await (const _ of records) number += 1;
  return number;
}

async function exportTo(
  cli: Cli,
  entity_name: string,
  file: string | undefined,
  options: ExportOptions,
): Promise<void> {
  const { app } = await cli.connectToApp(options.app);
  const q = options.query === undefined ? undefined : (parseJson(options.query, '--query') as RecordQuery);
  const filter = { entity_name, ...(q !== undefined && { q }) };
  const asCsv = file === undefined ? options.csv === true : isCsv(file);
  const target = file === undefined ? process.stdout : createWriteStream(file);
  const write = async (text: string) => {
    if (!target.write(text)) await once(target, 'drain');
  };
  const bar = file === undefined ? undefined : cli.output.progress('Exporting', (await app.countRecords(filter)).count);
  const names = asCsv ? await listFields(app, entity_name) : [];
  if (asCsv) await write(formatCsvRow(names));
  let exported = 0;
  for await (const record of app.listRecords({ ...filter, limit: 1000 }, { signal: cli.signal })) {
    await write(asCsv ? formatCsvRow(names.map((name) => record[name])) : `${JSON.stringify(record)}\n`);
    exported += 1;
    bar?.set(exported);
  }
  bar?.end();
  if (file === undefined) return;
  target.end();
  await once(target, 'finish');
  await cli.output.show(
    { entity_name, exported, file },
    () => `Wrote ${exported} records of ${entity_name} to ${file}.`,
  );
}

const automatic: readonly (keyof EntityRecord)[] = ['id', 'created_date', 'updated_date', 'created_by'];

async function listFields(app: PlinthApp, entity_name: string): Promise<string[]> {
  const { schema } = await app.getEntitySchema({ entity_name });
  return [...Object.keys(schema.properties ?? {}), ...automatic.map(String)];
}
