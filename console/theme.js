// Applies the chosen theme before the first paint. Without a choice, the system's theme applies.
try {
  const theme = localStorage.getItem('plinth.theme');
  if (theme) document.documentElement.dataset.theme = JSON.parse(theme);
} catch {}
