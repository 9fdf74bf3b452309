/* Keeps a page as it would be if it were loaded anew: parts marked `data-live` are replaced, id by id. */
"use strict";
const EVERY = 1000, AT_LEAST = 60000, AGAIN = 5000;
const body = document.body.dataset;
let source = null, timer = 0, refreshedAt = Date.now(), isFetching = false;
let isAway = false;
let polls, snapshot = Number(body.snapshot), change = Number(body.change);

/* Whether somebody is typing in it, or has changed a field that was not sent. */
function isEdited(part) {
  return [...part.querySelectorAll("input, textarea, select")].some(field => {
    if (["checkbox", "radio"].includes(field.type)) return field.checked !== field.defaultChecked;
    if (field === document.activeElement) return true;
    if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
    const options = [...field.options];
    return field.selectedOptions[0] !== (options.find(one => one.defaultSelected) || options[0]);
  });
}

/* By what the element that has the focus is found again. */
function mark(element) {
  if (element.id) return "#" + CSS.escape(element.id);
  const name = element.tagName.toLowerCase();
  for (const key of ["href", "name"])
    if (element.hasAttribute(key)) return `${name}[${key}="${CSS.escape(element.getAttribute(key))}"]`;
  return element.tagName === "SUMMARY" && element.parentElement.id ? `#${CSS.escape(element.parentElement.id)} > summary` : null;
}

function replace(part, other) {
  const focused = part.contains(document.activeElement) ? mark(document.activeElement) : null;
  const open = [...part.querySelectorAll("details[id]")].map(one => [one.id, one.open]);
  const places = [...part.querySelectorAll(".scroll")].map(one => one.scrollLeft);
  part.replaceWith(other);
  for (const [id, was] of open) {
    const one = document.getElementById(id);
    if (one) one.open = was;
  }
  other.querySelectorAll(".scroll").forEach((one, place) => { one.scrollLeft = places[place] || 0; });
  if (focused) other.querySelector(focused)?.focus({ preventScroll: true });
}

/* The details that somebody opened make no difference. */
function text(part) {
  const copy = part.cloneNode(true);
  copy.querySelectorAll("details").forEach(one => one.removeAttribute("open"));
  return copy.outerHTML;
}

function show(page) {
  for (const part of document.querySelectorAll("[data-live][id]")) {
    const other = page.getElementById(part.id);
    if (other && !isEdited(part) && text(other) !== text(part)) replace(part, document.importNode(other, true));
  }
}

/* Says that what is shown is of an earlier time: the next answer takes the place of these words. */
function away() {
  const state = document.getElementById("state"), now = new Date().toISOString();
  if (isAway) return;
  isAway = true;
  state.className = "state silent";
  state.replaceChildren(state.querySelector(".lamp"), `Out of touch with the server since ${now.slice(0, 10)} ${now.slice(11, 19)} UTC`);
}

async function refresh() {
  timer = 0;
  if (document.hidden) return;
  if (isFetching) return soon();
  isFetching = true;
  refreshedAt = Date.now();
  try {
    const signal = AbortSignal.timeout(AT_LEAST);
    const answer = await fetch(location.href, { headers: { Accept: "text/html" }, signal });
    if (answer.ok) {
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
      isAway = false;
    } else if (answer.status !== 404) away(); /* 404: what was shown here was removed */
  } catch { away(); /* its next word brings another try */ } finally { isFetching = false; }
}

function soon() {
  if (!timer) timer = setTimeout(refresh, Math.max(100, refreshedAt + EVERY - Date.now()));
}

function tell(count) {
  document.getElementById("news").textContent = `${count} new change${count === 1 ? "" : "s"}`;
}

function listen() {
  if (source || document.hidden) return;
  source = new EventSource("/events");
  source.addEventListener("news", event => {
    const news = JSON.parse(event.data);
    if (news.latest_change > change) tell(news.latest_change - change);
    if (news.snapshot !== snapshot) soon();
    snapshot = news.snapshot;
    change = Math.max(change, news.latest_change);
  });
  source.addEventListener("figures", event => {
    const now = event.data !== "null";
    if (polls !== undefined && polls !== now) soon();
    polls = now;
  });
  source.addEventListener("open", () => { if (isAway) soon(); });
  source.addEventListener("error", () => {
    setTimeout(() => { if (source?.readyState !== EventSource.OPEN) soon(); }, AGAIN);
    if (source?.readyState === EventSource.CLOSED) { stop(); setTimeout(listen, AGAIN); }
  });
}

function stop() {
  source?.close();
  source = null;
}

document.addEventListener("visibilitychange", () => document.hidden ? stop() : (listen(), soon()));
setInterval(() => { if (Date.now() > refreshedAt + AT_LEAST) soon(); }, EVERY);
listen();

/* A slider asks for its part: <form data-part="/forecast" data-into="forecast">. */
let asked = 0;
document.addEventListener("input", async event => {
  const form = event.target.closest("form[data-part]");
  if (!form) return;
  const number = ++asked;
  await new Promise(done => setTimeout(done, 80));
  if (number !== asked) return;
  let answer;
  try { answer = await fetch(`${form.dataset.part}?${new URLSearchParams(new FormData(form))}`, { headers: { Accept: "text/html" } }); } catch { return; }
  if (number !== asked || !answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const part = document.getElementById(form.dataset.into), other = page.getElementById(form.dataset.into);
  if (part && other) {
    part.replaceWith(document.importNode(other, true));
    event.target.setAttribute("aria-valuetext", other.dataset.value);
  }
});
