/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "lab/page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "core/text.h"

#define NARROW_SPACE "\xe2\x80\xaf"
#define DASH "\xe2\x80\x93"

/* ---- text --------------------------------------------------------------------------- */

static void character(FILE *out, const char *text, size_t n)
{
    unsigned char c = (unsigned char)text[0];

    if (n == 0 || c < 0x20 || c == 0x7f || (n == 2 && c == 0xc2 && (unsigned char)text[1] < 0xa0)) {
        for (size_t i = 0; i < (n == 0 ? 1 : n); i++)
            fprintf(out, "\\x%02x", (unsigned char)text[i]);
        return;
    }
    switch (c) {
    case '&':
        fputs("&amp;", out);
        break;
    case '<':
        fputs("&lt;", out);
        break;
    case '>':
        fputs("&gt;", out);
        break;
    case '"':
        fputs("&quot;", out);
        break;
    case '\'':
        fputs("&#39;", out);
        break;
    default:
        fwrite(text, 1, n, out);
    }
}

void usher__page_text(FILE *out, const char *text)
{
    size_t size = strlen(text);

    for (size_t i = 0; i < size;) {
        size_t n = usher__utf8_length(text + i, size - i);

        character(out, text + i, n);
        i += n == 0 ? 1 : n;
    }
}

const char *usher__page_count(char to[PAGE_NUMBER], uint64_t n)
{
    char digits[24];
    size_t size = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;

    for (size_t i = 0; i < size; i++) {
        if (i > 0 && (size - i) % 3 == 0)
            at += (size_t)snprintf(to + at, PAGE_NUMBER - at, NARROW_SPACE);
        to[at++] = digits[i];
    }
    to[at] = '\0';
    return to;
}

const char *usher__page_share(char to[PAGE_NUMBER], double part, double whole)
{
    if (whole <= 0)
        return DASH;
    (void)snprintf(to, PAGE_NUMBER, "%.1f", 100 * part / whole);
    return to;
}

const char *usher__page_span(char to[PAGE_NUMBER], int64_t ms)
{
    int64_t s = (ms + 500) / 1000;

    if (ms < 0)
        return DASH;
    if (s < 3600)
        (void)snprintf(to, PAGE_NUMBER, "%" PRId64 ":%02" PRId64, s / 60, s % 60);
    else
        (void)snprintf(to, PAGE_NUMBER, "%" PRId64 " h %02" PRId64, s / 3600, s / 60 % 60);
    return to;
}

/* ---- tables ------------------------------------------------------------------------- */

/* @text cut at tabs, each part between two tags; the first has its own. */
static void cells(FILE *out, const char *text, const char *first, const char *other)
{
    bool begin = true;

    for (const char *end; text != NULL; text = end == NULL ? NULL : end + 1) {
        const char *tag = begin ? first : other;

        end = strchr(text, '\t');
        fprintf(out, "<%s>%.*s</%.2s>", tag, end == NULL ? (int)strlen(text) : (int)(end - text),
                text, tag);
        begin = false;
    }
}

void usher__page_table(struct page *p, const char *caption, const char *heads)
{
    fputs("<table>", p->out);
    if (caption[0] != '\0')
        fprintf(p->out, "<caption>%s</caption>", caption);
    fputs("<thead><tr>", p->out);
    cells(p->out, heads, "th scope=\"col\"", "th scope=\"col\"");
    fputs("</tr></thead><tbody>", p->out);
}

void usher__page_row(struct page *p, const char *format, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fputs("<tr>", p->out);
    cells(p->out, text, "th scope=\"row\"", "td");
    fputs("</tr>", p->out);
}

void usher__page_table_end(struct page *p)
{
    fputs("</tbody></table>", p->out);
}

/* ---- plots -------------------------------------------------------------------------- */

void usher__plot_begin(struct page *p, struct plot *plot, const char *title, const char *desc)
{
    unsigned id = ++p->plots;

    plot->left = plot->left > 0 ? plot->left : 46;
    plot->bottom = plot->bottom > 0 ? plot->bottom : 30;
    plot->top = plot->top > 0 ? plot->top : 14;
    plot->right = plot->right > 0 ? plot->right : 16;
    fprintf(p->out,
            "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-labelledby=\"p%ut p%ud\">"
            "<title id=\"p%ut\">%s</title><desc id=\"p%ud\">%s</desc>",
            plot->w, plot->h, id, id, id, title, id, desc);
}

void usher__plot_end(struct page *p)
{
    fputs("</svg>\n", p->out);
}

double usher__plot_x(const struct plot *plot, double x)
{
    return plot->left +
           (x - plot->x0) / (plot->x1 - plot->x0) * (plot->w - plot->left - plot->right);
}

double usher__plot_y(const struct plot *plot, double y)
{
    return plot->h - plot->bottom -
           (y - plot->y0) / (plot->y1 - plot->y0) * (plot->h - plot->bottom - plot->top);
}

void usher__plot_tick_x(struct page *p, const struct plot *plot, double x, const char *label)
{
    double at = usher__plot_x(plot, x), base = plot->h - plot->bottom;

    fprintf(
        p->out,
        "<path class=\"tk\" d=\"M%.1f %.1fv4\"/><text x=\"%.1f\" y=\"%.1f\" class=\"c\">%s</text>",
        at, base, at, base + 17, label);
}

void usher__plot_tick_y(struct page *p, const struct plot *plot, double y, const char *label)
{
    double at = usher__plot_y(plot, y);

    fprintf(p->out,
            "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/><text x=\"%.1f\" y=\"%.1f\" class=\"e\">%s"
            "</text>",
            plot->left, at, plot->w - plot->right, plot->left - 6, at + 4, label);
}

double usher__plot_round(double value)
{
    static const double steps[] = { 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8 };
    double scale = 1;

    if (value <= 0)
        return 1;
    while (scale * 10 <= value)
        scale *= 10;
    while (scale > value)
        scale /= 10;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * scale >= value)
            return steps[i] * scale;
    return 10 * scale;
}

void usher__plot_ticks_y(struct page *p, const struct plot *plot, const char *unit)
{
    double step = 1, wanted = plot->y1 / 6;
    char label[PAGE_NUMBER];

    while (step > wanted)
        step /= 10;
    while (step * 10 <= wanted)
        step *= 10;
    step *= step * 2 >= wanted ? 2 : step * 5 >= wanted ? 5 : 10;

    for (unsigned i = 0; i * step <= plot->y1 * 1.0001; i++) {
        (void)snprintf(label, sizeof label, "%.4g%s", i * step, unit);
        usher__plot_tick_y(p, plot, i * step, label);
    }
}

void usher__plot_axes(struct page *p, const struct plot *plot, const char *x, const char *y)
{
    double base = plot->h - plot->bottom;

    fprintf(p->out, "<path class=\"ax\" d=\"M%.1f %.1fH%.1f\"/>", plot->left, base,
            plot->w - plot->right);
    if (x[0] != '\0')
        fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"e l\">%s</text>",
                plot->w - plot->right, plot->h - 4, x);
    if (y[0] != '\0')
        fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"l\">%s</text>", plot->left,
                plot->top - 2, y);
}

void usher__plot_line(struct page *p, const struct plot *plot, const char *class, const double *x,
                      const double *y, size_t n)
{
    fprintf(p->out, "<path class=\"%s\" d=\"", class);
    for (size_t i = 0; i < n; i++)
        fprintf(p->out, "%c%.1f %.1f", i == 0 ? 'M' : 'L', usher__plot_x(plot, x[i]),
                usher__plot_y(plot, y[i]));
    fputs("\"/>", p->out);
}

/* The path of the steps, without its end. */
static void steps_path(struct page *p, const struct plot *plot, const double *y, size_t n,
                       double x0, double dx)
{
    for (size_t i = 0; i < n; i++) {
        /* a change is a change: these are counts or rounded means */
        if (i > 0 && y[i] == y[i - 1])
            continue;
        if (i == 0)
            fprintf(p->out, "M%.1f %.1f", usher__plot_x(plot, x0), usher__plot_y(plot, y[0]));
        else
            fprintf(p->out, "H%.1fV%.1f", usher__plot_x(plot, x0 + (double)i * dx),
                    usher__plot_y(plot, y[i]));
    }
    fprintf(p->out, "H%.1f", usher__plot_x(plot, x0 + (double)n * dx));
}

void usher__plot_steps(struct page *p, const struct plot *plot, const char *class, const char *area,
                       const double *y, size_t n, double x0, double dx)
{
    if (n == 0)
        return;
    if (area != NULL) {
        fprintf(p->out, "<path class=\"%s\" d=\"", area);
        steps_path(p, plot, y, n, x0, dx);
        fprintf(p->out, "V%.1fH%.1fZ\"/>", usher__plot_y(plot, plot->y0), usher__plot_x(plot, x0));
    }
    fprintf(p->out, "<path class=\"%s\" d=\"", class);
    steps_path(p, plot, y, n, x0, dx);
    fputs("\"/>", p->out);
}

void usher__plot_text(struct page *p, const struct plot *plot, double x, double y, double dx,
                      double dy, const char *class, const char *text)
{
    fprintf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>",
            usher__plot_x(plot, x) + dx, usher__plot_y(plot, y) + dy, class, text);
}
