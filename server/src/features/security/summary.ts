// A result's summary: one to three sentences, built from counts, in the requested language.
import type { Language } from './contract.ts';
import { type CoverageOfGroups, findingGroups, groups, type StoredGroups } from './groups.ts';

interface Texts {
  readonly none: string;
  /** `total` counts the findings in all groups, and `severe` those that are critical or high. */
  found(total: number, severe: number): string;
  headers(count: number): string;
  /** Names the groups that were skipped or only partially scanned. */
  incomplete(names: string): string;
}

const texts: Readonly<Record<Language, Texts>> = {
  en: {
    none: 'The scan found no problems in what it checked.',
    found: (total, severe) =>
      `The scan found ${total} ${total === 1 ? 'problem' : 'problems'}${severe > 0 ? `, ${severe} of them critical or high` : ''}.`,
    headers: (count) => `${count} security ${count === 1 ? 'header' : 'headers'} can be improved.`,
    incomplete: (names) => `Not checked, or only partially checked: ${names}.`,
  },
  ja: {
    none: '調べた範囲では、修正が必要な点は見つかりませんでした。',
    found: (total, severe) =>
      `問題が${total}件見つかりました${severe > 0 ? `（うち重大または高は${severe}件）` : ''}。`,
    headers: (count) => `改善できるセキュリティヘッダーが${count}件あります。`,
    incomplete: (names) => `未確認、または一部のみ確認: ${names}。`,
  },
  de: {
    none: 'Die Prüfung hat in dem, was sie angesehen hat, nichts gefunden.',
    found: (total, severe) =>
      `Die Prüfung hat ${total} ${total === 1 ? 'Problem' : 'Probleme'} gefunden${severe > 0 ? `, davon ${severe} kritisch oder hoch` : ''}.`,
    headers: (count) =>
      count === 1
        ? 'Ein Sicherheits-Header kann verbessert werden.'
        : `${count} Sicherheits-Header können verbessert werden.`,
    incomplete: (names) => `Nicht oder nur teilweise geprüft: ${names}.`,
  },
  es: {
    none: 'El análisis no encontró nada que corregir en lo que revisó.',
    found: (total, severe) =>
      `El análisis encontró ${total} ${total === 1 ? 'problema' : 'problemas'}${severe > 0 ? `; de gravedad crítica o alta: ${severe}` : ''}.`,
    headers: (count) =>
      count === 1
        ? 'Se puede mejorar un encabezado de seguridad.'
        : `Se pueden mejorar ${count} encabezados de seguridad.`,
    incomplete: (names) => `Sin revisar, o solo en parte: ${names}.`,
  },
  fr: {
    none: "L'analyse n'a rien trouvé à corriger dans ce qu'elle a examiné.",
    found: (total, severe) =>
      `L'analyse a trouvé ${total} ${total === 1 ? 'problème' : 'problèmes'}${severe > 0 ? `, dont ${severe} de gravité critique ou élevée` : ''}.`,
    headers: (count) =>
      count === 1
        ? 'Un en-tête de sécurité peut être amélioré.'
        : `${count} en-têtes de sécurité peuvent être améliorés.`,
    incomplete: (names) => `Non vérifié, ou seulement en partie : ${names}.`,
  },
  pt: {
    none: 'A análise não encontrou nada a corrigir no que examinou.',
    found: (total, severe) =>
      `A análise encontrou ${total} ${total === 1 ? 'problema' : 'problemas'}${severe > 0 ? `; de gravidade crítica ou alta: ${severe}` : ''}.`,
    headers: (count) =>
      count === 1
        ? 'Um cabeçalho de segurança pode ser melhorado.'
        : `${count} cabeçalhos de segurança podem ser melhorados.`,
    incomplete: (names) => `Não verificado, ou só em parte: ${names}.`,
  },
};

/** Groups have the same names as in the coverage header. */
export function summarise(
  language: Language,
  found: StoredGroups,
  headerCount: number,
  coverage: CoverageOfGroups,
): string {
  const all = findingGroups.flatMap((group) => found[group]);
  const severe = all.filter(({ severity }) => severity === 'critical' || severity === 'high').length;
  const incomplete = groups.filter((group) => coverage[group].value !== 'ran');
  const write = texts[language];
  return [
    all.length > 0 || headerCount === 0 ? (all.length > 0 ? write.found(all.length, severe) : write.none) : undefined,
    headerCount > 0 ? write.headers(headerCount) : undefined,
    incomplete.length > 0 ? write.incomplete(incomplete.join(', ')) : undefined,
  ]
    .filter((sentence) => sentence !== undefined)
    .join(language === 'ja' ? '' : ' ');
}
