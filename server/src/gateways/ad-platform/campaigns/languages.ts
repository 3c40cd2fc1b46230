// The platform's language codes, and the ids of its language constants.

const languages: Readonly<Record<string, { readonly code: string; readonly id: number }>> = {
  en: { code: 'en', id: 1000 },
  de: { code: 'de', id: 1001 },
  fr: { code: 'fr', id: 1002 },
  es: { code: 'es', id: 1003 },
  it: { code: 'it', id: 1004 },
  ja: { code: 'ja', id: 1005 },
  da: { code: 'da', id: 1009 },
  nl: { code: 'nl', id: 1010 },
  fi: { code: 'fi', id: 1011 },
  ko: { code: 'ko', id: 1012 },
  nb: { code: 'no', id: 1013 },
  pt: { code: 'pt', id: 1014 },
  sv: { code: 'sv', id: 1015 },
  cs: { code: 'cs', id: 1021 },
  he: { code: 'iw', id: 1027 },
  pl: { code: 'pl', id: 1030 },
};

export function findLanguage(code: string): { readonly code: string; readonly id: number } {
  const language = languages[code];
  if (language === undefined) throw new Error(`the ad platform does not support the language ${code}`);
  return language;
}
