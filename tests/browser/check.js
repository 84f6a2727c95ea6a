// SPDX-License-Identifier: BSD-2-Clause
// Checks the report in a frame of the given width, as it opens and with all details unfolded, and writes the faults
// into #verdict: plots that are not drawn, overlapping words, a page that scrolls sideways, tables that scroll without
// a visible bar, width that is not used, letters too small to read. The page around it sets `report` (the HTML),
// `width` and `dark`.
"use strict";

const wrong = [];
const SMALLEST = 9; // px: smaller letters cannot be read on a phone
const USED = 0.9; // of a wide page, by each experiment

function say(what, where) {
	wrong.push(`${where}: ${what}`);
}

function meet(a, b) {
	const air = 0.5; // boxes of letters are a little larger than the letters
	return a.left + air < b.right && b.left + air < a.right && a.top + air < b.bottom && b.top + air < a.bottom;
}

function name(element) {
	const article = element.closest("article");
	const figure = element.closest("figure");
	const caption = figure && figure.querySelector("figcaption").textContent;
	return [article && article.id, caption].filter(Boolean).join(", ") || "the head";
}

function checkDistinct(elements) {
	const boxes = elements.map((e) => e.getBoundingClientRect());
	for (let i = 0; i < boxes.length; i++)
		for (let j = 0; j < i; j++)
			if (meet(boxes[i], boxes[j]))
				say(`"${elements[i].textContent.trim()}" lies on "${elements[j].textContent.trim()}"`, name(elements[i]));
}

function checkInside(element, frame, where) {
	const a = element.getBoundingClientRect(), b = frame.getBoundingClientRect();
	if (a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1)
		say(`"${element.textContent.trim() || element.getAttribute("class")}" sticks out`, where);
}

function checkPlot(svg) {
	const where = name(svg);
	const drawn = [...svg.querySelectorAll(".mark, .cross, .line, .curve")];
	if (!drawn.some((e) => e.getBoundingClientRect().width > 0)) say("nothing is drawn", where);
	drawn.forEach((e) => checkInside(e, svg, where));
	const words = [...svg.querySelectorAll("text")];
	if (words.length < 4) say("an axis without names or numbers", where);
	words.forEach((e) => checkInside(e, svg, where));
	checkDistinct(words);
	const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
	const size = parseFloat(svg.ownerDocument.defaultView.getComputedStyle(words[0]).fontSize) * scale;
	if (size < SMALLEST) say(`letters of ${size.toFixed(1)} px`, where);
}

// A table that is wider than its box has a scroll bar, which takes some of the height.
function checkScroll(box) {
	const bar = box.offsetHeight - box.clientHeight;
	if (box.clientWidth && box.scrollWidth > box.clientWidth && bar < 5) say("scrolls without a visible bar", name(box));
}

// Some part of each experiment reaches the right edge: plots, text in columns, or a table beside text.
function checkWidthUsed(article) {
	const parts = [...article.querySelectorAll(".text p, .scroll, figure, .verdicts")];
	const right = Math.max(...parts.map((e) => e.getBoundingClientRect().right));
	if (width > 1000 && right < USED * width) say(`uses ${Math.round(right)} px of ${width}`, name(article));
}

// What a reader must find at the head.
function checkHead(page) {
	const head = page.querySelector("header").textContent;
	for (const fact of [/\d{4}-\d\d-\d\d/, /inkling \d/, / on \d+ thread/, /\d+ agree/, /\d+ do not agree/])
		if (!fact.test(head)) say(`no ${fact}`, "the head");
	if (!page.querySelector("header .verdicts li")) say("no verdicts", "the head");
}

// One structure, one colour and one mark, in all plots.
function checkStructures(page) {
	const marks = {};
	for (const g of page.querySelectorAll("figure > svg > g")) {
		const mark = g.querySelector(".mark"), structure = g.getAttribute("class").split(" ")[0];
		if (!mark || structure === "s0") continue;
		const shape = mark.getAttribute("d").replace(/^M[\d.]+ [\d.]+/, "");
		marks[structure] = marks[structure] || shape;
		if (marks[structure] !== shape) say(`two marks for ${structure}`, name(g));
	}
	if (new Set(Object.values(marks)).size !== Object.keys(marks).length) say("two structures share a mark", "the page");
}

function checkColours(page) {
	const style = page.defaultView.getComputedStyle(page.body);
	const light = (colour) => colour.match(/\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
	if (Math.abs(light(style.color) - light(style.backgroundColor)) < 120) say("text and background are alike", "the page");
	if (light(style.backgroundColor) < 128 !== dark) say(`not ${dark ? "dark" : "light"}`, "the page");
}

function check(page) {
	const plots = [...page.querySelectorAll("figure > svg")];
	const articles = [...page.querySelectorAll("article")];
	if (!plots.length || !articles.length) say("no plots or no articles", "the page");
	if (page.documentElement.scrollWidth > width) say(`${page.documentElement.scrollWidth} px wide`, "the page");
	plots.filter((e) => e.checkVisibility()).forEach(checkPlot);
	[...page.querySelectorAll(".scroll")].forEach(checkScroll);
	articles.forEach(checkWidthUsed);
	checkHead(page);
	checkStructures(page);
	[...page.querySelectorAll(".legend")].forEach((legend) => checkDistinct([...legend.children]));
	articles.forEach((article) => checkDistinct([...article.children]));
	checkDistinct([...page.body.children]);
	checkColours(page);
	return `${articles.length} experiments, ${plots.length} plots`;
}

const frame = document.createElement("iframe");
frame.style = `width:${width}px;height:2000px;border:0`;
frame.srcdoc = report;
frame.onload = () => {
	const page = frame.contentDocument;
	const seen = check(page);
	const folded = [...page.querySelectorAll("details:not([open])")];
	folded.forEach((e) => (e.open = true));
	check(page);
	folded.forEach((e) => (e.open = false));
	const height = page.documentElement.scrollHeight;
	frame.style.height = height + "px";
	document.getElementById("verdict").textContent =
		`${width} px, ${dark ? "dark" : "light"}: ${seen}, ${height} px high, ${wrong.length} faults\n` + wrong.join("\n");
};
document.body.append(frame);
