// In the head, so that a chosen theme is there before the first paint.
document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("gnomon-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch (blocked) { /* a file opened from a mail may have no storage */ }
