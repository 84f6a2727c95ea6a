// SPDX-License-Identifier: BSD-2-Clause
// Looks at the report as a reader does, in a frame of the width that is asked for, and writes what is wrong with it
// into #verdict: plots that are not drawn, words on top of each other, a page that must be moved sideways, letters too
// small to read. The page around it sets `report` (the HTML), `width` and `dark`.
"use strict";

const wrong = [];
const SMALLEST = 9; // px: below that nobody reads on a phone

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
	plots.forEach(checkPlot);
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
	const seen = check(frame.contentDocument);
	const height = frame.contentDocument.documentElement.scrollHeight;
	frame.style.height = height + "px";
	document.getElementById("verdict").textContent =
		`${width} px, ${dark ? "dark" : "light"}: ${seen}, ${height} px high, ${wrong.length} faults\n` + wrong.join("\n");
};
document.body.append(frame);
