for(const section of document.querySelectorAll('section')){
const spans=[...section.querySelectorAll('.linked')];
for(const row of section.querySelectorAll('tr[data-link]')){row.tabIndex=0;
const show=on=>{for(const span of spans)for(const side of ['head','tail'])
span.classList.toggle(side,on&&span.dataset[side].split(' ').includes(row.dataset.link))};
for(const name of ['mouseenter','focus'])row.addEventListener(name,()=>show(true));
for(const name of ['mouseleave','blur'])row.addEventListener(name,()=>show(false))}}
